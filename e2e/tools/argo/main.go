// Argo CD's application controller and repository server in one program, chosen by its first argument: its
// own main package adds the server with the web interface, which no test needs.
package main

import (
	"fmt"
	"os"

	controller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/spf13/cobra"
)

func main() {
	root := &cobra.Command{Use: "argo", SilenceUsage: true}
	application, repository := controller.NewCommand(), reposerver.NewCommand()
	application.Use, repository.Use = "application-controller", "repo-server"
	root.AddCommand(application, repository)
	if err := root.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
