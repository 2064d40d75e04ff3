{{/*
Copyright 2026 The Docket Authors.
SPDX-License-Identifier: Apache-2.0

The pod, whatever runs it.
*/}}
{{- define "docket.pod" -}}
{{- $postgres := eq .Values.database.type "postgres" -}}
{{- $own := eq (include "docket.ownCertificate" .) "true" -}}
metadata:
  labels:
    {{- include "docket.selector" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    kubectl.kubernetes.io/default-container: docket
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: docket
  automountServiceAccountToken: true
  # A Service named docket would make variables named DOCKET_*, which are settings.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if $postgres }}
  topologySpreadConstraints:
    {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "docket.selector" $ | nindent 10 }}
      matchLabelKeys: [pod-template-hash]
    {{- end }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: docket
      image: {{ include "docket.image" . }}
      {{- with .Values.image.pullPolicy }}
      imagePullPolicy: {{ . }}
      {{- end }}
      args:
        - serve
        {{- if $own }}
        - --tls-secret=docket-serving
        {{- else }}
        - --tls-cert-file=/etc/docket/tls/tls.crt
        - --tls-private-key-file=/etc/docket/tls/tls.key
        {{- end }}
        {{- with .Values.cluster }}
        - --cluster={{ . }}
        {{- end }}
        {{- if $postgres }}
        - --database-password-file=/etc/docket/database/password
        {{- else }}
        - --database=sqlite:///var/lib/docket/docket.db
        {{- end }}
        {{- if ne (include "docket.allGroups" .) "true" }}
        - --api-groups={{ join "," .Values.apiServices.groups }}
        {{- end }}
        {{- if not .Values.results }}
        - --result-rows=false
        {{- end }}
        {{- if .Values.customResources.configMap }}
        - --custom-resources=/etc/docket/custom-resources
        {{- end }}
        {{- if .Values.resultMappings.configMap }}
        - --result-mappings=/etc/docket/result-mappings
        {{- end }}
        {{- range .Values.extraArgs }}
        {{- if regexMatch "^--(result-rows|database)(=|$)" . }}
        {{- fail (printf "extraArgs: %s would leave results.docket.dev registered with nobody who serves it; use the values results and database" .) }}
        {{- end }}
        - {{ . | quote }}
        {{- end }}
      env:
        {{- if $postgres }}
        - name: DOCKET_DATABASE
          valueFrom:
            secretKeyRef:
              name: {{ .Values.database.postgres.secretName }}
              key: url
        {{- end }}
        - name: GOMEMLIMIT
          value: {{ .Values.goMemLimit }}
        {{- range .Values.extraEnv }}
        {{- if has .name (list "DOCKET_RESULT_ROWS" "DOCKET_DATABASE") }}
        {{- fail (printf "extraEnv: %s would leave results.docket.dev registered with nobody who serves it; use the values results and database" .name) }}
        {{- end }}
        {{- end }}
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - name: https
          containerPort: 8443
          protocol: TCP
      # While the database is not there yet, the server waits for it and answers nothing;
      # restarts would only make it come later. Hence an hour.
      startupProbe:
        httpGet:
          path: /livez
          port: https
          scheme: HTTPS
        periodSeconds: 2
        timeoutSeconds: 4
        failureThreshold: 1800
      livenessProbe:
        httpGet:
          path: /livez
          port: https
          scheme: HTTPS
        periodSeconds: 10
        timeoutSeconds: 10
        failureThreshold: 6
      # The check of the database takes 3 s at most.
      readinessProbe:
        httpGet:
          path: /readyz
          port: https
          scheme: HTTPS
        periodSeconds: 2
        timeoutSeconds: 4
        failureThreshold: 2
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        capabilities:
          drop: [ALL]
        readOnlyRootFilesystem: true
      volumeMounts:
        {{- if not $own }}
        - name: tls
          mountPath: /etc/docket/tls
          readOnly: true
        {{- end }}
        {{- if $postgres }}
        - name: database
          mountPath: /etc/docket/database
          readOnly: true
        {{- else }}
        - name: data
          mountPath: /var/lib/docket
        {{- end }}
        {{- if .Values.customResources.configMap }}
        - name: custom-resources
          mountPath: /etc/docket/custom-resources
          readOnly: true
        {{- end }}
        {{- if .Values.resultMappings.configMap }}
        - name: result-mappings
          mountPath: /etc/docket/result-mappings
          readOnly: true
        {{- end }}
  {{- if or $postgres (not $own) .Values.customResources.configMap .Values.resultMappings.configMap }}
  volumes:
    {{- if not $own }}
    - name: tls
      secret:
        secretName: {{ .Values.certificate.secretName }}
        defaultMode: 0440
    {{- end }}
    {{- if $postgres }}
    - name: database
      secret:
        secretName: {{ .Values.database.postgres.secretName }}
        defaultMode: 0440
    {{- end }}
    {{- with .Values.customResources.configMap }}
    - name: custom-resources
      configMap:
        name: {{ . }}
    {{- end }}
    {{- with .Values.resultMappings.configMap }}
    - name: result-mappings
      configMap:
        name: {{ . }}
    {{- end }}
  {{- else }}
  volumes: []
  {{- end }}
{{- end }}
