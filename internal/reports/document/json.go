// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/docket-project/docket/internal/reports/schema"
)

// appendJSON appends the report: type and metadata first, so that readers of what is
// stored need not look through the body to find them.
func (o *Object) appendJSON(out []byte) ([]byte, error) {
	out = append(out, `{"apiVersion":`...)
	var err error
	if out, err = jsontext.AppendQuote(out, o.APIVersion); err != nil {
		return nil, err
	}
	out = append(out, `,"kind":`...)
	if out, err = jsontext.AppendQuote(out, o.Kind); err != nil {
		return nil, err
	}
	meta, err := marshalMetadata(&o.ObjectMeta)
	if err != nil {
		return nil, err
	}
	out = append(append(out, `,"metadata":`...), meta...)
	rest := o.Body()[1:]
	if len(rest) > 1 {
		out = append(out, ',')
	}
	return append(out, rest...), nil
}

func marshalMetadata(meta *metav1.ObjectMeta) ([]byte, error) { return stdjson.Marshal(meta) }

// metadataSize is more than the JSON of type and metadata mostly takes.
const metadataSize = 2 << 10

// MarshalJSON implements json.Marshaler.
func (o Object) MarshalJSON() ([]byte, error) {
	return o.stated().appendJSON(make([]byte, 0, len(o.Body())+metadataSize))
}

// UnmarshalJSON implements json.Unmarshaler: it reads what the machinery of API servers
// made of a report, such as the result of server-side apply or of a webhook's patch.
func (o *Object) UnmarshalJSON(data []byte) error {
	if o.normalize(data) {
		return nil
	}
	var content map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &content); err != nil {
		return err
	}
	_, err := o.coerce(content, schema.Options{DropMalformed: true})
	return err
}

// Read reads a report that another server stored, in whatever version of its kind. It
// returns the fields that the kind doesn't have, which are left out, and an error if the
// Go type of the kind can't hold it. Other rules of the schema are no concern here.
func (o *Object) Read(data []byte) (unknown []string, err error) {
	if o.normalize(data) {
		return nil, o.readable()
	}
	var content map[string]any
	strict, err := kjson.UnmarshalStrict(data, &content)
	if err != nil {
		return nil, err
	}
	for _, problem := range strict {
		unknown = append(unknown, problem.Error())
	}
	content["apiVersion"], content["kind"] = o.Of.GroupVersionKind.ToAPIVersionAndKind()
	paths, err := o.coerce(content, schema.Options{WantUnknown: true})
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		unknown = append(unknown, unknownField(path).Error())
	}
	o.Accept()
	return unknown, o.readable()
}

// readable returns an error if the Go type of the kind, if there is one, can't hold the object.
func (o *Object) readable() error {
	if o.Of.NewView == nil {
		return nil
	}
	_, err := o.View()
	return err
}

// unknownField is the problem of a field that a kind doesn't have.
func unknownField(path string) error { return fmt.Errorf("unknown field %q", path) }

// normalize reads a report that is stored as it was sent. It returns false, with o as it
// was, for all others, and for what isn't a report.
func (o *Object) normalize(data []byte) bool {
	kind := o.Of.GroupVersionKind
	parts, ok := o.Of.Schema.Normalize(data)
	if !ok || parts.Kind != kind.Kind || parts.APIVersion != kind.GroupVersion().String() {
		return false
	}
	var meta metav1.ObjectMeta
	if parts.Metadata != nil && json.Unmarshal(parts.Metadata, &meta, json.RejectUnknownMembers(true)) != nil {
		return false
	}
	keepManagers(&meta)
	*o = Object{ObjectMeta: meta, Content: &Content{json: parts.Body, valid: parts.Valid}, Of: o.Of}
	o.state()
	return true
}

// coerce reads a report from the tree that its JSON was decoded to, which it keeps. It
// returns the paths of unknown fields if they are wanted.
func (o *Object) coerce(content map[string]any, options schema.Options) ([]string, error) {
	version, stated, err := statedType(content)
	if err != nil {
		return nil, err
	}
	kind := o.Of.GroupVersionKind
	// An object of another kind is refused later. It isn't pruned, so that the error is
	// about the kind.
	options.OtherKind = version.Group != kind.Group || stated != kind.Kind
	meta, unknown, err := o.Of.Schema.Coerce(content, options)
	if err != nil {
		return nil, err
	}
	canonical, err := schema.Canonical(content)
	if err != nil {
		return nil, err
	}
	*o = Object{
		TypeMeta: metav1.TypeMeta{APIVersion: version.String(), Kind: stated},
		Content:  &Content{json: canonical, tree: content}, Of: o.Of,
	}
	if meta != nil {
		keepManagers(meta)
		o.ObjectMeta = *meta
	}
	return unknown, nil
}

// keepManagers takes managedFields: [] for nothing, as custom resources do. As a list without items it
// would mean to forget all managers.
func keepManagers(meta *metav1.ObjectMeta) {
	if len(meta.ManagedFields) == 0 {
		meta.ManagedFields = nil
	}
}

func statedType(content map[string]any) (gvk.GroupVersion, string, error) {
	kind, _, err := unstructured.NestedString(content, "kind")
	if err != nil {
		return gvk.GroupVersion{}, "", err
	}
	version, _, err := unstructured.NestedString(content, "apiVersion")
	if err != nil {
		return gvk.GroupVersion{}, "", err
	}
	parsed, err := gvk.ParseGroupVersion(version)
	return parsed, kind, err
}

// split reads what appendJSON wrote, without looking at the body. It returns false for
// JSON of another form.
func (o *Object) split(data []byte) bool {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(data))
	if token, err := decoder.ReadToken(); err != nil || token.Kind() != '{' {
		return false
	}
	read := Object{Of: o.Of}
	for _, member := range []struct {
		name string
		into any
	}{{`"apiVersion"`, &read.APIVersion}, {`"kind"`, &read.Kind}, {`"metadata"`, &read.ObjectMeta}} {
		name, err := decoder.ReadValue()
		if err != nil || string(name) != member.name {
			return false
		}
		value, err := decoder.ReadValue()
		if err != nil || unmarshal(value, member.into) != nil {
			return false
		}
	}
	rest := bytes.TrimPrefix(data[decoder.InputOffset():], []byte(","))
	if !bytes.HasSuffix(rest, []byte("}")) {
		return false
	}
	read.Content = &Content{json: slices.Concat([]byte("{"), rest), valid: true}
	*o = read
	return true
}

// unmarshal decodes what a server stored. What the quicker parser is too strict for, a
// name twice in somebody's managed fields, say, the usual one decides.
func unmarshal(data []byte, into any) error {
	if json.Unmarshal(data, into) == nil {
		return nil
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(data, into)
}

// marshalEmptyList returns a list without items as JSON. As in lists of custom resources,
// the token to continue with is there even if it is empty.
func marshalEmptyList(kind metav1.TypeMeta, meta metav1.ListMeta) ([]byte, error) {
	var empty struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        struct {
			Continue           string `json:"continue"`
			RemainingItemCount *int64 `json:"remainingItemCount,omitempty"`
			ResourceVersion    string `json:"resourceVersion"`
		} `json:"metadata"`
		Items []struct{} `json:"items"`
	}
	empty.TypeMeta = kind
	empty.Metadata.Continue, empty.Metadata.ResourceVersion = meta.Continue, meta.ResourceVersion
	empty.Metadata.RemainingItemCount = meta.RemainingItemCount
	empty.Items = []struct{}{}
	return stdjson.Marshal(empty)
}
