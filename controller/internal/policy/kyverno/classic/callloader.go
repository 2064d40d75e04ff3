// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	enginecontext "github.com/kyverno/kyverno/pkg/engine/context"
	"github.com/kyverno/kyverno/pkg/engine/jmespath"
	"github.com/kyverno/kyverno/pkg/engine/variables"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/bounds"
	"github.com/docket-project/docket/controller/internal/policy/call"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/reach"
)

// callLoader makes an API call of a rule, once for an evaluation. It takes the place of the engine's, so that nothing
// is asked for but what [reach.Scope] allows, whatever the variables have made of the path.
type callLoader struct {
	ctx         context.Context //nolint:containedctx // That of the evaluation; the engine's loaders get none.
	entry       *kyvernov1.ContextEntry
	scope       reach.Scope
	client      engineapi.RawClient
	services    *call.Client
	entries     policy.Entries
	expressions jmespath.Interface
	document    enginecontext.Interface

	answer []byte
	// isDefault tells that the answer is the default of the call: the expression is not for it.
	isDefault bool
}

func (l *callLoader) HasLoaded() bool { return l.answer != nil }

// LoadData notes a refused call in the document, as [failingLoader] does.
func (l *callLoader) LoadData() error {
	if l.answer == nil {
		if err := l.fetch(); err != nil {
			err = fmt.Errorf("context entry %s: apiCall: %w", l.entry.Name, err)
			if document, ok := l.document.(*document); ok && reach.Refused(err) {
				document.missing = err
			}
			return err
		}
	}
	if err := l.store(); err != nil {
		return fmt.Errorf("context entry %s: apiCall: %w", l.entry.Name, err)
	}
	return nil
}

// fetch makes the call. The default is for calls that fail, not for those that are refused.
func (l *callLoader) fetch() error {
	asked, err := variables.SubstituteAllInType(logr.Discard(), l.document, l.entry.APICall)
	if err != nil {
		return err
	}
	answer, err := l.do(asked)
	if err != nil && l.entry.APICall.Default != nil && !reach.Refused(err) {
		l.answer, l.isDefault = l.entry.APICall.Default.Raw, true
		return nil
	}
	l.answer = answer
	return err
}

func (l *callLoader) do(asked *kyvernov1.ContextAPICall) ([]byte, error) {
	posted := make(map[string]any, len(asked.Data))
	for _, datum := range asked.Data {
		posted[datum.Key] = datum.Value
	}
	body, err := json.Marshal(posted)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	method := cmp.Or(string(asked.Method), http.MethodGet)
	if asked.URLPath != "" {
		return l.cluster(method, asked.URLPath, body)
	}
	if asked.Service == nil {
		return nil, errors.New("give either a urlPath or a service")
	}
	if method != http.MethodPost {
		body = nil
	}
	return l.service(method, asked.Service, body)
}

// cluster asks the cluster's own API.
func (l *callLoader) cluster(method, path string, body []byte) ([]byte, error) {
	if err := l.scope.Check(method, path); err != nil {
		return nil, fmt.Errorf("urlPath %q: %w", path, err)
	}
	if method == http.MethodGet && base.IsWatchedObject(path) {
		if answer, err := base.CachedObject(l.ctx, l.entries, path, l.scope.Namespace); !errors.Is(err, base.ErrNotCached) {
			return answer, err
		}
	}
	answer, err := l.client.RawAbsPath(reach.With(l.ctx, l.scope), path, method, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return answer, nil
}

// service asks a service. It gets no credentials but those in the policy.
func (l *callLoader) service(method string, service *kyvernov1.ServiceCall, body []byte) ([]byte, error) {
	if err := l.scope.CheckServices(); err != nil {
		return nil, err
	}
	request := call.Request{URL: service.URL, Method: method, Body: body, CABundle: service.CABundle}
	for _, header := range service.Headers {
		request.Headers = append(request.Headers, call.Header{Key: header.Key, Value: header.Value})
	}
	answer, err := l.services.JSON(l.ctx, request)
	if err != nil {
		return nil, err
	}
	return answer, bounds.Take(l.ctx, new(bounds.Scanner).Cost(answer))
}

// store puts what the expression makes of the answer into the document.
func (l *callLoader) store() error {
	if l.isDefault || l.entry.APICall.JMESPath == "" {
		return l.document.AddContextEntry(l.entry.Name, l.answer)
	}
	expression, err := variables.SubstituteAll(logr.Discard(), l.document, l.entry.APICall.JMESPath)
	if err != nil {
		return fmt.Errorf("jmesPath %s: %w", l.entry.APICall.JMESPath, err)
	}
	text, ok := expression.(string)
	if !ok {
		return fmt.Errorf("jmesPath %s is %v, not a text", l.entry.APICall.JMESPath, expression)
	}
	var answer any
	if err := json.Unmarshal(l.answer, &answer); err != nil {
		return fmt.Errorf("the answer is not JSON: %w", err)
	}
	found, err := l.expressions.Search(text, answer)
	if err != nil {
		return fmt.Errorf("jmesPath %s: %w", text, err)
	}
	data, err := json.Marshal(found)
	if err != nil {
		return err
	}
	return l.document.AddContextEntry(l.entry.Name, data)
}
