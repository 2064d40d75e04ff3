// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"net/http"
	"strings"
	"unicode"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/admission/handoff"
	"github.com/docket-project/docket/controller/internal/policy"
)

const (
	// The API server cuts or drops warnings beyond these sizes.
	maxWarning, maxWarnings = 256, 4096
	// Limits of one denial message, and of all of them together, so that people can read them.
	maxMessage, maxDenial = 4 << 10, 32 << 10
)

// answer returns the response to a request that follows from findings.
func answer(request *policy.Request, findings []finding) *admissionv1.AdmissionResponse {
	response := &admissionv1.AdmissionResponse{UID: request.UID, Allowed: true, Warnings: warnings(findings)}
	if denied := denials(findings); len(denied) > 0 {
		response.Allowed = false
		response.Result = &metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
			Message: denial(request, denied),
		}
	}
	return response
}

// denials returns the messages that deny, by policy and rule.
func denials(findings []finding) map[string]any {
	denied := map[string]any{}
	for i := range findings {
		f := &findings[i]
		rules := map[string]string{}
		for _, v := range f.verdicts {
			if v.Deny {
				rules[v.Rule] = joined(rules[v.Rule], clean(v.Message, maxMessage))
			}
		}
		if len(rules) == 0 {
			continue
		}
		name := f.id.ResultName()
		if _, taken := denied[name]; taken {
			name = f.id.String()
		}
		if message, only := rules[""]; only && len(rules) == 1 {
			denied[name] = message // The policy has no rules.
		} else {
			denied[name] = rules
		}
	}
	return denied
}

// joined joins the messages of several results of one rule.
func joined(before, message string) string {
	if before == "" || before == message {
		return message
	}
	return handoff.Cut(before+"; "+message, maxMessage)
}

func denial(request *policy.Request, denied map[string]any) string {
	text, err := yaml.Marshal(denied)
	if err != nil {
		text = []byte(fmt.Sprint(denied)) // This can't happen with a map of strings.
	}
	return handoff.Cut("resource "+title(request)+" was blocked due to the following policies\n\n"+string(text), maxDenial)
}

// title returns how messages refer to the object of a request.
func title(request *policy.Request) string {
	kind, name := request.Kind.Kind, request.Name
	if subject := request.Subject(); subject != nil {
		kind = subject.GetKind()
		if subject.GetName() != "" {
			name = subject.GetName()
		} else if subject.GetGenerateName() != "" {
			name = subject.GetGenerateName() + "*"
		}
	}
	if namespace := namespaceOf(request.AdmissionRequest); namespace != "" {
		return kind + "/" + namespace + "/" + name
	}
	return kind + "/" + name
}

// warnings returns the messages of results that warn, and of errors that don't deny the request.
func warnings(findings []finding) []string {
	var list []string
	size := 0
	for i := range findings {
		for _, v := range findings[i].verdicts {
			if v.Deny || !v.Warn && v.Outcome != report.OutcomeError {
				continue
			}
			name := "policy " + findings[i].id.ResultName()
			if v.Rule != "" {
				name += "." + v.Rule
			}
			text := clean(name+": "+v.Message, maxWarning)
			if size += len(text); size > maxWarnings {
				return list
			}
			list = append(list, text)
		}
	}
	return list
}

// clean makes a text a single line of at most limit bytes.
func clean(text string, limit int) string {
	if strings.ContainsFunc(text, unicode.IsControl) {
		text = strings.Join(strings.FieldsFunc(text, unicode.IsControl), " ")
	}
	return handoff.Cut(text, limit)
}
