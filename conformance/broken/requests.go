// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Match tells which requests are broken.
type Match func(*http.Request) bool

// Method matches requests of a method; more have to match, too.
func Method(name string, more ...Match) Match {
	return And(append(more, func(r *http.Request) bool { return r.Method == name })...)
}

// And matches requests that match all of these.
func And(matches ...Match) Match {
	return func(r *http.Request) bool {
		for _, match := range matches {
			if !match(r) {
				return false
			}
		}
		return true
	}
}

// Path matches requests whose path ends so.
func Path(suffix string) Match {
	return func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, suffix) }
}

// HasQuery matches requests that have a parameter.
func HasQuery(name string) Match {
	return func(r *http.Request) bool { return r.URL.Query().Has(name) }
}

// Place is what a path of the API is about.
type Place struct {
	Group, Version, Namespace, Resource, Name, subresource string
}

// PlaceOf returns what a request is about; nil if not about objects.
func PlaceOf(r *http.Request) *Place {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	p := &Place{}
	switch {
	case len(parts) > 2 && parts[0] == "api":
		p.Version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		p.Group, p.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return nil
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		p.Namespace, parts = parts[1], parts[2:]
	}
	for i, field := range []*string{&p.Resource, &p.Name, &p.subresource} {
		if i < len(parts) {
			*field = parts[i]
		}
	}
	return p
}

// IsCore reports whether a request is for namespaces and the like, which checks use and do not check.
func IsCore(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/api/") }

// Collection matches requests about all objects of a resource or those of a namespace.
func Collection(r *http.Request) bool {
	p := PlaceOf(r)
	return p != nil && !IsCore(r) && p.Name == ""
}

// Single matches requests about one object, not one of its subresources.
func Single(r *http.Request) bool {
	p := PlaceOf(r)
	return p != nil && !IsCore(r) && p.Name != "" && p.subresource == ""
}

// Subresource matches requests about a subresource.
func Subresource(name string) Match {
	return func(r *http.Request) bool {
		p := PlaceOf(r)
		return p != nil && !IsCore(r) && p.subresource == name
	}
}

// Watching matches watches.
func Watching(r *http.Request) bool {
	value := r.URL.Query().Get("watch")
	return value == "true" || value == "1"
}

// Listing matches lists.
func Listing(r *http.Request) bool {
	return r.Method == http.MethodGet && Collection(r) && !Watching(r)
}

// BodyOf reads the body of a request, which can be read again afterwards.
func BodyOf(r *http.Request) []byte {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil
	}
	SetBody(r, data)
	return data
}

// SetBody gives a request another body.
func SetBody(r *http.Request, data []byte) {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	r.Header.Set("Content-Length", strconv.Itoa(len(data)))
}

// OnRequest has edit change requests before the server sees them.
func OnRequest(match Match, edit func(*http.Request)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if match(r) {
				edit(r)
			}
			next.ServeHTTP(w, r)
		})
	}
}

// OnSentObject has edit change the JSON objects that requests bring.
func OnSentObject(match Match, edit func(object map[string]any)) func(http.Handler) http.Handler {
	return OnBody(match, func(_ *http.Request, object map[string]any) bool {
		before := runtime.DeepCopyJSON(object)
		edit(object)
		return !reflect.DeepEqual(object, before)
	})
}

// WithoutQuery takes parameters away from requests.
func WithoutQuery(match Match, names ...string) func(http.Handler) http.Handler {
	return OnRequest(match, func(r *http.Request) { dropQuery(r, names) })
}

func dropQuery(r *http.Request, names []string) {
	query := r.URL.Query()
	for _, name := range names {
		query.Del(name)
	}
	r.URL.RawQuery = query.Encode()
}

// FieldsOf returns an object in an object, which is made if need be.
func FieldsOf(object map[string]any, name string) map[string]any {
	fields, ok := object[name].(map[string]any)
	if !ok {
		fields = map[string]any{}
		object[name] = fields
	}
	return fields
}

// SetQuery gives a request a parameter.
func SetQuery(r *http.Request, name, value string) {
	query := r.URL.Query()
	query.Set(name, value)
	r.URL.RawQuery = query.Encode()
}

// Storing matches writing requests that are not dry runs.
func Storing(verb string, match Match) Match {
	return Method(verb, match, func(r *http.Request) bool { return !HasQuery("dryRun")(r) })
}

// AsObject matches GET requests that want neither Tables nor the like.
func AsObject(match Match) Match {
	return Method(http.MethodGet, match, func(r *http.Request) bool { return !strings.Contains(r.Header.Get("Accept"), "as=") })
}

// OnBody has edit change the JSON objects that requests bring. Others stay as they are to the byte:
// there are checks of what can't be seen any more in a body that has been read.
func OnBody(match Match, edit func(*http.Request, map[string]any) (changed bool)) func(http.Handler) http.Handler {
	return OnRequest(match, func(r *http.Request) {
		var object map[string]any
		if json.Unmarshal(BodyOf(r), &object) != nil || object == nil || !edit(r, object) {
			return
		}
		if data, err := json.Marshal(object); err == nil {
			SetBody(r, data)
		}
	})
}

// Accepts matches requests whose Accept header has a text.
func Accepts(text string) Match {
	return func(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), text) }
}

// The types of patches.
const (
	JSONPatch      = string(types.JSONPatchType)
	MergePatch     = string(types.MergePatchType)
	StrategicPatch = string(types.StrategicMergePatchType)
	ApplyPatch     = string(types.ApplyYAMLPatchType)
)

// TypeOf returns the media type of the body of a request.
func TypeOf(r *http.Request) string {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// Sends matches requests with a body of one of these types.
func Sends(types ...string) Match {
	return func(r *http.Request) bool { return slices.Contains(types, TypeOf(r)) }
}

// QueryIs matches requests that have a parameter with this value.
func QueryIs(name, value string) Match {
	return func(r *http.Request) bool { return r.URL.Query().Get(name) == value }
}

// GroupVersionPath returns the path below which what a request is about is served.
func GroupVersionPath(p *Place) string {
	if p.Group == "" {
		return "/api/" + p.Version
	}
	return strings.Join([]string{"/apis", p.Group, p.Version}, "/")
}

// Media types of bodies.
const (
	JSONType     = runtime.ContentTypeJSON
	YAMLType     = runtime.ContentTypeYAML
	ProtobufType = runtime.ContentTypeProtobuf

	// LargeBytes is where a body begins to be large.
	LargeBytes = 3 << 20
)

// PathOf returns the path of the object that a request is about.
func PathOf(r *http.Request) string {
	return strings.TrimSuffix(r.URL.Path, "/"+PlaceOf(r).subresource)
}
