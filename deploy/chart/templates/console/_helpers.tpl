{{/*
Copyright 2026 The Docket Authors.
SPDX-License-Identifier: Apache-2.0
*/}}

{{/* Labels that the console's pods are selected by. */}}
{{- define "docket.console.selector" -}}
app.kubernetes.io/name: docket-console
app.kubernetes.io/component: console
{{- end }}

{{/* Labels of everything of the console. */}}
{{- define "docket.console.labels" -}}
app.kubernetes.io/name: docket-console
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* Fails for values that would let in whom nobody has signed in, or that leave the console out of reach. */}}
{{- define "docket.console.check" -}}
{{- with .Values.console -}}
{{- if not .hosts -}}
{{- fail "console.hosts: name the host that people see in the address bar of their browsers" -}}
{{- end -}}
{{- if .sidecars -}}
{{- if or .tls.secretName .headers.clientCASecret -}}
{{- fail "console.sidecars: the console listens on loopback, for the proxy in its pod; leave console.tls.secretName and console.headers.clientCASecret empty" -}}
{{- end -}}
{{- $ports := list -}}
{{- range .sidecars }}{{ range .ports }}{{ $ports = append $ports .name }}{{ end }}{{ end -}}
{{- if not (has "proxy" $ports) -}}
{{- fail "console.sidecars: give the port of the proxy the name proxy; the Service sends people there" -}}
{{- end -}}
{{- else -}}
{{- if not (or .tls.secretName .unencrypted) -}}
{{- fail "console.tls.secretName: name a Secret with a certificate, or have the proxy in console.sidecars; console.unencrypted=true confirms that tokens go through the cluster unencrypted" -}}
{{- end -}}
{{- if and (eq .signIn "headers") (not (and .tls.secretName .headers.clientCASecret .headers.clientNames)) -}}
{{- fail "console.headers.clientCASecret: who is in these headers counts only from a proxy that proves itself; give it with console.headers.clientNames and console.tls.secretName, or have the proxy in console.sidecars" -}}
{{- end -}}
{{- if and (ne .signIn "headers") .headers.clientCASecret -}}
{{- fail "console.headers.clientCASecret: it is for console.signIn=headers" -}}
{{- end -}}
{{- end -}}
{{- if and (eq .signIn "headers") (not (or .headers.impersonateUsers .headers.impersonateAnybody)) -}}
{{- fail "console.headers.impersonateUsers: name the people whom the console may impersonate; console.headers.impersonateAnybody=true confirms that it may impersonate every user, among them each ServiceAccount, so that whoever has its token has the cluster. impersonateGroups alone doesn't limit that" -}}
{{- end -}}
{{- end -}}
{{- end }}
