{{- define "usnet.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Values whose default follows from other values. Text stands for true, and none for false. */}}
{{- define "usnet.attachments" -}}
{{- if or .Values.attachments (and (kindIs "invalid" .Values.attachments) (or .Values.resourceClaims .Values.hotPlug)) }}true{{ end }}
{{- end }}

{{- define "usnet.selinux" -}}
{{- if or .Values.selinux (and (kindIs "invalid" .Values.selinux) .Values.openshift) }}true{{ end }}
{{- end }}

{{/* Those of config/components/cni-folders, or else of most distributions. */}}
{{- define "usnet.cniBinDir" -}}
{{- $distribution := ternary "/var/lib/cni/bin" (ternary "/var/lib/rancher/k3s/data/cni" "/opt/cni/bin" .Values.k3s) .Values.openshift }}
{{- .Values.cniBinDir | default $distribution }}
{{- end }}

{{- define "usnet.cniConfDir" -}}
{{- $distribution := ternary "/etc/kubernetes/cni/net.d" (ternary "/var/lib/rancher/k3s/agent/etc/cni/net.d" "/etc/cni/net.d" .Values.k3s) .Values.openshift }}
{{- .Values.cniConfDir | default $distribution }}
{{- end }}
