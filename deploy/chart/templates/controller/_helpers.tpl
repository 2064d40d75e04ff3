{{/*
Copyright 2026 The Docket Authors.
SPDX-License-Identifier: Apache-2.0
*/}}

{{/* Labels that the controller's pods are selected by. */}}
{{- define "docket.controller.selector" -}}
app.kubernetes.io/name: docket-controller
app.kubernetes.io/component: controller
{{- end }}

{{/* Labels of everything of the controller. */}}
{{- define "docket.controller.labels" -}}
app.kubernetes.io/name: docket-controller
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* The binding of a role to the controller's ServiceAccount; takes the context, name and kind. */}}
{{- define "docket.controller.binding" -}}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: docket-controller
    namespace: {{ .namespace }}
{{- end }}

{{- define "docket.controller.image" -}}
{{- with .Values.controller.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end }}
