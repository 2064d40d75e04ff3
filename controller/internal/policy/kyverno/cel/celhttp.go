// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"unsafe" // For go:linkname.

	celcompiler "github.com/kyverno/kyverno/pkg/cel/compiler"
	celhttp "github.com/kyverno/sdk/extensions/cel/libs/http"

	"github.com/docket-project/docket/controller/internal/policy/bounds"
	"github.com/docket-project/docket/controller/internal/policy/call"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/meter"
	"github.com/docket-project/docket/controller/internal/policy/reach"
)

// celServices is the variable http of CEL expressions: our client for services.
type celServices struct {
	services *call.Client
	// caBundle has the certificates that sign those of services; empty for those of the system.
	caBundle string
	scope    reach.Scope
	// evaluation is that for which services are called, once During is called.
	evaluation context.Context //nolint:containedctx // Kyverno's interface passes none.
}

var (
	_ celhttp.ContextInterface = (*celServices)(nil)
	_ meter.During             = (*celServices)(nil)
)

func (c *celServices) During(ctx context.Context) any {
	out := *c
	out.evaluation = ctx
	return &out
}

func (c *celServices) Get(url string, headers map[string]string) (any, error) {
	return c.ask(call.Request{URL: url}, headers)
}

// Post sends data as JSON.
func (c *celServices) Post(url string, data any, headers map[string]string) (any, error) {
	body, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("the data are not JSON: %w", err)
	}
	return c.ask(call.Request{URL: url, Method: http.MethodPost, Body: body}, headers)
}

// Client returns one for services whose certificates are signed by those given.
func (c *celServices) Client(caBundle string) (celhttp.ContextInterface, error) {
	out := *c
	out.caBundle = caBundle
	return &out, nil
}

// ask returns the answer in the form that the library gives it: an object with the member statusCode,
// or what there is as its member body.
func (c *celServices) ask(request call.Request, headers map[string]string) (any, error) {
	if err := c.scope.CheckServices(); err != nil {
		return nil, err
	}
	request.CABundle = c.caBundle
	for key, value := range headers {
		request.Headers = append(request.Headers, call.Header{Key: key, Value: value})
	}
	answer, err := c.services.Ask(c.evaluation, request)
	if err != nil {
		return nil, err
	}
	if err := bounds.Take(c.evaluation, new(bounds.Scanner).Cost(answer.Body)); err != nil {
		return nil, err
	}
	var body any
	if err := json.NewDecoder(bytes.NewReader(answer.Body)).Decode(&body); err != nil {
		body = nil // No JSON is no error: the policy sees the status.
	}
	if object, ok := body.(map[string]any); ok {
		object["statusCode"] = answer.Status
		return object, nil
	}
	return map[string]any{"body": body, "statusCode": answer.Status}, nil
}

// sharedHTTP is the variable of Kyverno's compiler that it binds to programs as http. There is no other
// way to it, and its own client has other rules than ours about where requests may go.
//
//go:linkname sharedHTTP github.com/kyverno/kyverno/pkg/cel/compiler.sharedHTTPContext
var sharedHTTP unsafe.Pointer

var errUnguarded = errors.New("the HTTP client of policies in CEL can't be replaced in this version of the engine")

// withHTTP binds our client for services to the programs that compile compiles. The caller holds [libraryLock].
func withHTTP(ours celhttp.ContextInterface, compile func() error) error {
	theirs := reflect.TypeOf(celcompiler.NewLazyCELHTTPContext(""))
	if theirs.Kind() != reflect.Pointer || theirs.Elem().Kind() != reflect.Struct {
		return errUnguarded
	}
	// One of theirs that has made its client already.
	made := reflect.New(theirs.Elem())
	field := made.Elem().FieldByName("cached")
	if !field.IsValid() || field.Type() != reflect.TypeFor[celhttp.ContextInterface]() {
		return errUnguarded
	}
	reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem().Set(reflect.ValueOf(ours))
	before := sharedHTTP
	sharedHTTP = made.UnsafePointer()
	defer func() { sharedHTTP = before }()
	if any(celcompiler.NewLazyCELHTTPContext("")) != made.Interface() {
		return errUnguarded
	}
	return compile()
}
