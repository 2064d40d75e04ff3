// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// The media types of bodies.
const (
	JSON = "application/json"
	YAML = "application/yaml"
)

// Request is what a check sends. Make it with [Get], [Post], [Put], [Patch] or [Delete].
type Request struct {
	Method, Path string
	Query        url.Values
	// Header has more than Accept, which is JSON unless set, and Content-Type.
	Header http.Header
	Body   []byte
	// Refusable tells that the check wants to see it if the request is not allowed. Otherwise the
	// check is left out: it lacks rights.
	Refusable bool
	// Anonymous requests have no credentials.
	Anonymous bool
}

// Get returns a GET. The query is in pairs of names and values.
func Get(path string, query ...string) Request { return request(http.MethodGet, path, nil, query) }

// Post returns a POST of what [json.Marshal] makes of body; []byte is taken as it is.
func Post(path string, body any, query ...string) Request {
	return request(http.MethodPost, path, body, query)
}

// Put returns a PUT; see [Post].
func Put(path string, body any, query ...string) Request {
	return request(http.MethodPut, path, body, query)
}

// Patch returns a PATCH of a type; see [Post].
func Patch(path string, kind types.PatchType, body any, query ...string) Request {
	return request(http.MethodPatch, path, body, query).With("Content-Type", string(kind))
}

// Delete returns a DELETE; the body, [metav1.DeleteOptions], may be nil. See [Post].
func Delete(path string, body any, query ...string) Request {
	return request(http.MethodDelete, path, body, query)
}

func request(method, path string, body any, query []string) Request {
	r := Request{Method: method, Path: path, Query: url.Values{}, Header: http.Header{}}
	for i := 0; i+1 < len(query); i += 2 {
		r.Query.Add(query[i], query[i+1])
	}
	r.Header.Set("Accept", JSON)
	switch b := body.(type) {
	case nil:
		return r
	case []byte:
		r.Body = b
	default:
		data, err := json.Marshal(body)
		if err != nil {
			panic(err) // Only objects made of JSON get here.
		}
		r.Body = data
	}
	return r.With("Content-Type", JSON)
}

// With returns the request with a header field.
func (r Request) With(name, value string) Request {
	r.Header = r.Header.Clone()
	r.Header.Set(name, value)
	return r
}

// MayBeRefused returns the request with Refusable set.
func (r Request) MayBeRefused() Request {
	r.Refusable = true
	return r
}

// Sent is a request as it is shown to people.
type Sent struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
}

// Received is an answer as it is shown to people.
type Received struct {
	Code    int               `json:"code"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
}

// Exchange is a request and its answer as they are shown to people: without credentials and the
// contents of Secrets, and not endless.
type Exchange struct {
	Sent     Sent      `json:"sent"`
	Received *Received `json:"received,omitempty"`
}

// String returns a line.
func (e *Exchange) String() string {
	text := e.Sent.Method + " " + e.Sent.URL
	if e.Received == nil {
		return text
	}
	text += " → " + strconv.Itoa(e.Received.Code)
	if body := e.Received.Body; body != "" {
		text += " " + Shorten(body, 300)
	}
	return text
}

// Response is an answer.
type Response struct {
	*Exchange

	Code   int
	Header http.Header
	Body   []byte
}

// OK reports whether the code is one of success.
func (r *Response) OK() bool { return r.Code >= 200 && r.Code < 300 }

// Fail ends the check: this answer is not what the server should send.
func (r *Response) Fail(format string, args ...any) { r.FailBecause("", format, args...) }

// FailBecause is Fail that says what is wrong with the answer, too.
func (r *Response) FailBecause(found, format string, args ...any) {
	Stop(&Failure{Expected: fmt.Sprintf(format, args...), Found: found, Exchange: r.Exchange})
}

// Unprepared ends the check: the request only prepared something, which has not worked.
func (r *Response) Unprepared(wanted string) { Stop(&SetupError{wanted, r.Exchange}) }

// Want fails the check unless the code is one of these.
func (r *Response) Want(codes ...int) *Response {
	if !slices.Contains(codes, r.Code) {
		r.Fail("%s", codesText(codes))
	}
	return r
}

// WantOK fails the check unless the code is one of success.
func (r *Response) WantOK() *Response { return r.WantSuccess("success") }

// WantSuccess is WantOK that says what else was expected.
func (r *Response) WantSuccess(format string, args ...any) *Response {
	if !r.OK() {
		r.Fail(format, args...)
	}
	return r
}

func codesText(codes []int) string {
	var texts []string
	for _, code := range codes {
		texts = append(texts, strconv.Itoa(code)+" "+http.StatusText(code))
	}
	return strings.Join(texts, " or ")
}

// WantStatus fails the check unless the answer is a Status of failure with one of these codes, which the
// code of HTTP and that in the body have to be, and that reason; an empty reason is any.
func (r *Response) WantStatus(reason metav1.StatusReason, codes ...int) *Response {
	expected := codesText(codes) + " with a Status"
	if reason != "" {
		expected += " whose reason is " + string(reason)
	}
	if !slices.Contains(codes, r.Code) {
		r.Fail("%s", expected)
	}
	switch status, found := r.Status(); {
	case status == nil:
		r.FailBecause(found, "%s", expected)
	case status.Status != metav1.StatusFailure:
		r.FailBecause(fmt.Sprintf("its status is %q", status.Status), "%s", expected)
	case status.Code != int32(r.Code):
		r.FailBecause(fmt.Sprintf("its code is %d", status.Code), "%s", expected)
	case reason != "" && status.Reason != reason:
		r.FailBecause(fmt.Sprintf("its reason is %q", status.Reason), "%s", expected)
	}
	return r
}

// Status returns the Status that the answer is; nil, and what it is instead, if it is none.
func (r *Response) Status() (status *metav1.Status, found string) {
	status = &metav1.Status{}
	if err := json.Unmarshal(r.Body, status); err != nil {
		return nil, fmt.Sprintf("the answer is no JSON: %v", err)
	}
	if status.Kind != "Status" || status.APIVersion != "v1" {
		return nil, fmt.Sprintf("the answer has apiVersion %q and kind %q", status.APIVersion, status.Kind)
	}
	return status, ""
}

// Fields returns the JSON object that the answer is; nil if it is none.
func (r *Response) Fields() map[string]any {
	var fields map[string]any
	if utiljson.Unmarshal(r.Body, &fields) != nil { // Integers stay integers.
		return nil
	}
	return fields
}

// JSON returns the answer; it fails the check if that is not a JSON object.
func (r *Response) JSON() map[string]any {
	fields := r.Fields()
	if fields == nil {
		err := utiljson.Unmarshal(r.Body, &fields)
		r.FailBecause(fmt.Sprintf("it can't be read: %v", err), "a JSON object")
	}
	return fields
}

// ObjectOrNil returns the answer; nil if it is no success or not an object of an API.
func (r *Response) ObjectOrNil() *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: r.Fields()}
	if !r.OK() || object.GetKind() == "" || object.GetAPIVersion() == "" {
		return nil
	}
	return object
}

// Object returns the answer, without which a check can't go on.
func (r *Response) Object() *unstructured.Unstructured {
	object := r.ObjectOrNil()
	if object == nil {
		r.Unprepared("read the object")
	}
	return object
}

// list returns the items of the list that the answer is.
func (r *Response) list() (*unstructured.UnstructuredList, error) {
	list := &unstructured.UnstructuredList{}
	return list, list.UnmarshalJSON(r.Body)
}
