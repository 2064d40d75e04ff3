// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/json"
)

// refPrefix is where references point to: other documents are never read.
const refPrefix = "#/components/schemas/"

// Schemas holds the schemas of an OpenAPI document of version 3.
type Schemas struct {
	byName map[string]*node
	byKind map[schema.GroupVersionKind]*node
	// metadata is the schema of the metadata of all objects, if the document has one.
	metadata *node
}

// ReadSchemas reads a document as a server publishes it for a group version.
func ReadSchemas(document []byte) (*Schemas, error) {
	var content map[string]any
	if err := json.UnmarshalCaseSensitivePreserveInts(document, &content); err != nil {
		return nil, fmt.Errorf("the OpenAPI document is no JSON object: %w", err)
	}
	components, ok := content["components"].(map[string]any)
	if !ok {
		return nil, errors.New("the OpenAPI document has no components")
	}
	schemas, ok := components["schemas"].(map[string]any)
	if !ok {
		return nil, errors.New("the OpenAPI document has no components.schemas")
	}
	s := &Schemas{byName: map[string]*node{}, byKind: map[schema.GroupVersionKind]*node{}}
	for _, name := range sortedKeys(schemas) {
		n, err := readNode(schemas[name])
		if err != nil {
			return nil, fmt.Errorf("the OpenAPI document: components.schemas.%s%w", name, err)
		}
		s.byName[name] = n
		for _, kind := range n.kinds {
			if s.byKind[kind] == nil {
				s.byKind[kind] = n
			}
		}
		if strings.HasSuffix(name, ".meta.v1.ObjectMeta") {
			s.metadata = n
		}
	}
	return s, nil
}

// kind returns the schema of a kind; nil if there is none.
func (s *Schemas) kind(kind schema.GroupVersionKind) *node {
	if s == nil {
		return nil
	}
	return s.byKind[kind]
}

// target returns what a reference points to; nil if that is not in the document.
func (s *Schemas) target(ref string) *node {
	name, ok := strings.CutPrefix(ref, refPrefix)
	if s == nil || !ok {
		return nil
	}
	if n := s.byName[name]; n != nil {
		return n
	}
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	return s.byName[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
}

// node is a schema as it is written: references are not followed.
type node struct {
	ref             string
	types           []string
	format, pattern string
	// matcher is the pattern; nil if Go can't read it, whose language is another, if mostly the same.
	matcher         *regexp.Regexp
	preset, example any
	enum            []any

	minimum, maximum, multipleOf       *float64
	aboveMinimum, belowMaximum         bool // The limits themselves are too much.
	minLength, maxLength               *float64
	minItems, minProperties, mostItems *float64
	unique                             bool

	properties map[string]*node
	required   []string
	// others is the schema of properties that have no name; closed tells that there are none.
	others *node
	closed bool
	items  *node

	allOf  []*node
	either [][]*node // oneOf and anyOf

	kinds                             []schema.GroupVersionKind
	intOrString, preserving, embedded bool
	listKeys                          []string
	// rules tells that there are rules in another language, fixed that one of them compares the value
	// with the one before.
	rules, fixed bool
	nullable     bool
}

// readNode reads a schema. Its error begins with where in the schema it is.
func readNode(value any) (*node, error) {
	if allowed, ok := value.(bool); ok {
		return &node{closed: !allowed}, nil
	}
	content, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf(": expected a schema, found %s", shownType(value))
	}
	k := keywords{content: content}
	n := &node{
		ref: k.text("$ref"), types: k.types(), format: k.text("format"), pattern: k.text("pattern"),
		preset: content["default"], example: content["example"], enum: k.list("enum"),
		minimum: k.number("minimum"), maximum: k.number("maximum"), multipleOf: k.number("multipleOf"),
		minLength: k.number("minLength"), maxLength: k.number("maxLength"),
		minItems: k.number("minItems"), mostItems: k.number("maxItems"), minProperties: k.number("minProperties"),
		unique:     k.flag("uniqueItems"),
		properties: k.schemas("properties"), required: k.texts("required"), items: k.schema("items"), others: k.schema("additionalProperties"),
		allOf: k.schemaList("allOf"),
	}
	n.aboveMinimum, n.belowMaximum = k.limit("exclusiveMinimum", &n.minimum), k.limit("exclusiveMaximum", &n.maximum)
	if allowed, ok := content["additionalProperties"].(bool); ok && !allowed {
		n.others, n.closed = nil, true
	}
	for _, name := range []string{"oneOf", "anyOf"} {
		if branches := k.schemaList(name); len(branches) > 0 {
			n.either = append(n.either, branches)
		}
	}
	if k.err != nil {
		return nil, k.err
	}
	if n.pattern != "" {
		n.matcher, _ = regexp.Compile(n.pattern)
	}
	n.readExtensions(content)
	return n, nil
}

// readExtensions reads what only Kubernetes has. What is not as it should be counts for nothing.
func (n *node) readExtensions(content map[string]any) {
	n.intOrString = n.format == "int-or-string" || content["x-kubernetes-int-or-string"] == true
	n.preserving = content["x-kubernetes-preserve-unknown-fields"] == true
	n.embedded = content["x-kubernetes-embedded-resource"] == true
	extensions := keywords{content: content}
	n.listKeys = extensions.texts("x-kubernetes-list-map-keys")
	kinds, _ := content["x-kubernetes-group-version-kind"].([]any)
	for _, one := range kinds {
		kind, _ := one.(map[string]any)
		group, _ := kind["group"].(string)
		version, _ := kind["version"].(string)
		if name, _ := kind["kind"].(string); name != "" {
			n.kinds = append(n.kinds, schema.GroupVersionKind{Group: group, Version: version, Kind: name})
		}
	}
	n.nullable = content["nullable"] == true
	rules, _ := content["x-kubernetes-validations"].([]any)
	n.rules = len(rules) > 0
	n.fixed = slices.ContainsFunc(rules, func(one any) bool {
		validation, _ := one.(map[string]any)
		rule, _ := validation["rule"].(string)
		return strings.Contains(rule, "oldSelf")
	})
}

// keywords reads the parts of a schema. After a first error the rest does not matter.
type keywords struct {
	content map[string]any
	err     error
}

func (k *keywords) fail(name, expected string) {
	if k.err == nil {
		k.err = fmt.Errorf(".%s: expected %s, found %s", name, expected, shownType(k.content[name]))
	}
}

// keyword returns a part that is there and is a T.
func keyword[T any](k *keywords, name, expected string) (value T, ok bool) {
	found := k.content[name]
	if found == nil {
		return value, false
	}
	if value, ok = found.(T); !ok {
		k.fail(name, expected)
	}
	return value, ok
}

func (k *keywords) text(name string) string {
	value, _ := keyword[string](k, name, "a string")
	return value
}

func (k *keywords) flag(name string) bool {
	value, _ := keyword[bool](k, name, "true or false")
	return value
}

func (k *keywords) list(name string) []any {
	value, _ := keyword[[]any](k, name, "a list")
	return value
}

func (k *keywords) number(name string) *float64 {
	if k.content[name] == nil {
		return nil
	}
	value, ok := numberOf(k.content[name])
	if !ok {
		k.fail(name, "a number")
	}
	return &value
}

// limit reads an exclusive limit, which is a number of its own since version 3.1.
func (k *keywords) limit(name string, bound **float64) bool {
	if value, ok := numberOf(k.content[name]); ok {
		*bound = &value
		return true
	}
	return k.flag(name)
}

func (k *keywords) texts(name string) []string {
	var texts []string
	for _, one := range k.list(name) {
		text, ok := one.(string)
		if !ok {
			k.fail(name, "a list of strings")
			return nil
		}
		texts = append(texts, text)
	}
	return texts
}

// types is a list since version 3.1.
func (k *keywords) types() []string {
	if _, ok := k.content["type"].([]any); ok {
		return k.texts("type")
	}
	if text := k.text("type"); text != "" {
		return []string{text}
	}
	return nil
}

// node reads a schema that is at a place.
func (k *keywords) node(place string, value any) *node {
	n, err := readNode(value)
	if err != nil && k.err == nil {
		k.err = fmt.Errorf("%s%w", place, err)
	}
	return n
}

func (k *keywords) schema(name string) *node {
	if k.content[name] == nil {
		return nil
	}
	return k.node("."+name, k.content[name])
}

func (k *keywords) schemas(name string) map[string]*node {
	content, _ := keyword[map[string]any](k, name, "schemas by name")
	nodes := map[string]*node{}
	for _, key := range sortedKeys(content) {
		nodes[key] = k.node("."+name+"."+key, content[key])
	}
	return nodes
}

func (k *keywords) schemaList(name string) []*node {
	var nodes []*node
	for i, one := range k.list(name) {
		nodes = append(nodes, k.node(fmt.Sprintf(".%s[%d]", name, i), one))
	}
	return nodes
}
