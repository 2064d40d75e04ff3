{{/*
Copyright 2026 The Docket Authors.
SPDX-License-Identifier: Apache-2.0
*/}}

{{/* Labels that pods are selected by. */}}
{{- define "docket.selector" -}}
app.kubernetes.io/name: docket
app.kubernetes.io/component: server
{{- end }}

{{/* Labels of everything. One Docket a cluster: the APIs exist once. */}}
{{- define "docket.labels" -}}
app.kubernetes.io/name: docket
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "docket.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* "true" if the server makes and renews its certificate itself. */}}
{{- define "docket.ownCertificate" -}}
{{- and .Values.certificate.own (not .Values.certificate.certManager) (not .Values.certificate.caBundle) -}}
{{- end }}

{{/* JSON of the group versions to register. */}}
{{- define "docket.registered" -}}
{{- $versions := dict "openreports.io" "v1alpha1" "reports.kyverno.io" "v1" "results.docket.dev" "v1alpha1" "wgpolicyk8s.io" "v1alpha2" -}}
{{- $all := list -}}
{{- range ternary (append .Values.apiServices.groups "results.docket.dev") .Values.apiServices.groups .Values.results -}}
{{- $all = append $all (printf "%s/%s" . (get $versions .)) -}}
{{- end -}}
{{- with .Values.customResources.groupVersions -}}
{{- if not $.Values.customResources.configMap -}}
{{- fail "customResources.groupVersions: nobody would answer for them; name the ConfigMap with their definitions in customResources.configMap" -}}
{{- end -}}
{{- $all = concat $all . -}}
{{- end -}}
{{- toJson $all -}}
{{- end }}

{{- define "docket.allGroups" -}}
{{- eq (len .Values.apiServices.groups) 3 -}}
{{- end }}
