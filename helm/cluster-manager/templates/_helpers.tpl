{{/* The chart's name in labels. */}}
{{- define "cluster-manager.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* The name of the release's objects. */}}
{{- define "cluster-manager.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "cluster-manager.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "cluster-manager.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "cluster-manager.selectorLabels" -}}
app.kubernetes.io/name: {{ include "cluster-manager.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* A label's value holds at most 63 characters and ends with a letter or a digit. */}}
{{- define "cluster-manager.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimAll "-._" }}
{{ include "cluster-manager.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | trunc 63 | trimAll "-._" | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "cluster-manager.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}{{ include "cluster-manager.fullname" . }}{{ else }}default{{ end }}
{{- end }}

{{- define "cluster-manager.identity" -}}
{{- (.Values.global).identity | default dict | toYaml }}
{{- end }}

{{- define "cluster-manager.issuerURL" -}}
{{- $identity := include "cluster-manager.identity" . | fromYaml }}
{{- .Values.oauth.dex.issuerURL | default $identity.issuerUrl | default "" }}
{{- end }}

{{/* Secret and key of the issuer's certificate authority; no name: the system's authorities alone. */}}
{{- define "cluster-manager.authority" -}}
{{- $identity := include "cluster-manager.identity" . | fromYaml }}
{{- $global := $identity.ca | default dict }}
{{- dict "name" (.Values.oauth.dex.caSecret.name | default $global.secretName | default "") "key" (.Values.oauth.dex.caSecret.key | default $global.key | default "ca.crt") | toYaml }}
{{- end }}

{{- define "cluster-manager.baseURL" -}}
{{- if .Values.oauth.baseURL }}
{{- .Values.oauth.baseURL }}
{{- else if (.Values.global).domain }}
{{- printf "https://%s.%s" (include "cluster-manager.fullname" .) .Values.global.domain }}
{{- end }}
{{- end }}

{{- define "cluster-manager.trustedAudiences" -}}
{{- $identity := include "cluster-manager.identity" . | fromYaml }}
{{- $audiences := .Values.oauth.trustedAudiences }}
{{- if and (not $audiences) $identity.clientId }}
{{- $audiences = list $identity.clientId }}
{{- end }}
{{- concat $audiences .Values.muster.mcpServer.auth.requiredAudiences | uniq | join "," }}
{{- end }}

{{/* "true" where every call has its caller's rights, "" where the pod's own account is used. */}}
{{- define "cluster-manager.downstream" -}}
{{- if and .Values.oauth.enabled .Values.oauth.downstream.enabled }}true{{ end }}
{{- end }}

{{/* Values that contradict each other, or lack what they need. */}}
{{- define "cluster-manager.check" -}}
{{- if and .Values.github.enabled (not .Values.oauth.enabled) }}
{{- fail "github.enabled needs oauth.enabled: mode commit is offered to callers who are known; set oauth.enabled, or github.enabled to false" }}
{{- end }}
{{- if .Values.oauth.enabled }}
{{- if not (include "cluster-manager.issuerURL" .) }}
{{- fail "oauth.enabled needs an issuer: set oauth.dex.issuerURL or global.identity.issuerUrl" }}
{{- end }}
{{- if not (include "cluster-manager.baseURL" .) }}
{{- fail "oauth.enabled needs this server's URL: set oauth.baseURL or global.domain" }}
{{- end }}
{{- if not (include "cluster-manager.trustedAudiences" .) }}
{{- fail "oauth.enabled needs an audience: set oauth.trustedAudiences, global.identity.clientId or muster.mcpServer.auth.requiredAudiences" }}
{{- end }}
{{- end }}
{{- $app := .Values.github.app }}
{{- if or $app.id $app.privateKeySecret.name $app.webhookSecret.name }}
{{- if not (and $app.id $app.privateKeySecret.name $app.webhookSecret.name) }}
{{- fail "github.app.id, github.app.privateKeySecret.name and github.app.webhookSecret.name go together: set all three, or none" }}
{{- end }}
{{- end }}
{{- end }}
