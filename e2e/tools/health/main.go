// health says what GitOps programs make of an object: on standard input an object as JSON, as argument a file with a health check of Argo CD.
// It prints one line for each program: "kstatus InProgress message" by the library of Flux, "argocd Progressing message" by Argo CD's Lua.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "health:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("one argument is needed: a health check of Argo CD")
	}
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		return err
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: object})
	if err != nil {
		return err
	}
	fmt.Println("kstatus", result.Status, result.Message)
	health, message, err := argocd(os.Args[1], object)
	if err != nil {
		return err
	}
	fmt.Println("argocd", health, message)
	return nil
}

// argocd runs a check in the libraries that Argo CD opens for it (util/lua in its sources).
func argocd(file string, object map[string]any) (string, string, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString,
	} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			return "", "", err
		}
	}
	state.SetGlobal("obj", value(state, object))
	if err := state.DoFile(file); err != nil {
		return "", "", err
	}
	table, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return "", "", fmt.Errorf("%s returned no table", file)
	}
	return table.RawGetString("status").String(), table.RawGetString("message").String(), nil
}

// value is the same value in Lua; arrays begin at 1.
func value(state *lua.LState, from any) lua.LValue {
	switch from := from.(type) {
	case bool:
		return lua.LBool(from)
	case int64:
		return lua.LNumber(from)
	case float64:
		return lua.LNumber(from)
	case string:
		return lua.LString(from)
	case []any:
		table := state.NewTable()
		for _, element := range from {
			table.Append(value(state, element))
		}
		return table
	case map[string]any:
		table := state.NewTable()
		for key, element := range from {
			table.RawSetString(key, value(state, element))
		}
		return table
	default:
		return lua.LNil
	}
}
