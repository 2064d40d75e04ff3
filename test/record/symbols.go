// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Symbols that stand for what a server chose.
const (
	symbolUID      = "uid"
	symbolVersion  = "rv"     // of an object
	symbolList     = "listrv" // of a list or a bookmark
	symbolName     = "name"   // made from a generateName
	symbolContinue = "continue"
	symbolCreated  = "created" // has the number of the object's UID
	// symbolTime is any time.
	symbolTime = "$time"
)

var (
	uuids   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	symbols = regexp.MustCompile(`\$(?:(?:uid|rv|listrv|name|continue|created)[0-9]+|time)`)
)

// normalizer puts symbols in the place of values.
type normalizer struct {
	byValue map[string]string // kind and value to symbol
	counts  map[string]int    // by kind
	names   map[string]string // generated names to symbols
	err     error
}

func newNormalizer() *normalizer {
	return &normalizer{byValue: map[string]string{}, counts: map[string]int{}, names: map[string]string{}}
}

// number gives the UUIDs of exchanges their symbols, in the order of the UUIDs. It is also that of the UUIDs
// which the replay makes up: where a program takes them as names, lists come in the same order.
func (n *normalizer) number(exchanges []Exchange) {
	var found []string
	for i := range exchanges {
		data, err := json.Marshal(exchanges[i])
		n.err = errors.Join(n.err, err)
		found = append(found, uuids.FindAllString(string(data), -1)...)
	}
	slices.Sort(found)
	for _, uid := range found {
		n.symbol(symbolUID, uid)
	}
}

// exchange returns an exchange with symbols.
func (n *normalizer) exchange(x Exchange) Exchange {
	x.Request.Path = n.path(x.Request.Path)
	x.Request.Query = n.query(x.Request.Query)
	x.Request.Body = n.value(x.Request.Body)
	x.Response.Body = n.value(x.Response.Body)
	for i, event := range x.Response.Events {
		x.Response.Events[i] = n.value(event)
	}
	return x
}

// symbol returns the symbol of a value, a new one for a new value.
func (n *normalizer) symbol(kind, value string) string {
	key := kind + " " + value
	if n.byValue[key] == "" {
		n.counts[kind]++
		n.byValue[key] = fmt.Sprintf("$%s%d", kind, n.counts[kind])
	}
	return n.byValue[key]
}

// text replaces UIDs and generated names in a text.
func (n *normalizer) text(s string) string {
	if found := symbols.FindString(s); found != "" && n.err == nil {
		n.err = fmt.Errorf("%q looks like a symbol (%s): record with other contents", s, found)
	}
	if name := n.names[s]; name != "" {
		return name
	}
	return uuids.ReplaceAllStringFunc(s, func(uid string) string { return n.symbol(symbolUID, uid) })
}

func (n *normalizer) path(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		segments[i] = n.text(segment)
	}
	return strings.Join(segments, "/")
}

func (n *normalizer) query(query url.Values) url.Values {
	out := url.Values{}
	for key, values := range query {
		switch key {
		case "timeoutSeconds": // Informers throw dice for it.
			continue
		case "resourceVersion":
			out[key] = []string{n.version(symbolList, values[0])}
		case "continue":
			out[key] = []string{n.symbol(symbolContinue, values[0])}
		default:
			for _, value := range values {
				out[key] = append(out[key], n.text(value))
			}
		}
	}
	return out
}

// version returns a symbol for a resourceVersion. One that is known as the other kind only keeps that.
func (n *normalizer) version(kind, value string) string {
	if value == "" || value == "0" {
		return value
	}
	if kind == symbolList && n.byValue[kind+" "+value] == "" {
		if known := n.byValue[symbolVersion+" "+value]; known != "" {
			return known
		}
	}
	return n.symbol(kind, value)
}

func (n *normalizer) value(value any) any {
	switch value := value.(type) {
	case string:
		return n.text(value)
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = n.value(item)
		}
		return out
	case map[string]any:
		return n.object(value)
	}
	return value
}

// object goes through the fields in order of their names, except that metadata comes first: it is
// where symbols are defined.
func (n *normalizer) object(object map[string]any) any {
	out := map[string]any{}
	if metadata, ok := object["metadata"].(map[string]any); ok {
		kind := symbolVersion
		if _, list := object["items"]; list || text(metadata, "name") == "" {
			kind = symbolList // A bookmark and a Table have no name either.
		}
		out["metadata"] = n.metadata(kind, metadata)
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if name := n.text(key); out[name] == nil {
			out[name] = n.value(object[key])
		}
	}
	return out
}

func (n *normalizer) metadata(versionKind string, metadata map[string]any) map[string]any {
	uid, name, prefix := text(metadata, "uid"), text(metadata, "name"), text(metadata, "generateName")
	if prefix != "" && strings.HasPrefix(name, prefix) && n.names[name] == "" {
		n.names[name] = n.symbol(symbolName, name)
	}
	created := symbolTime
	if uid != "" {
		created = strings.Replace(n.symbol(symbolUID, uid), symbolUID, symbolCreated, 1)
	}
	out := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		value, isText := metadata[key].(string)
		switch {
		case key == "managedFields":
			out[key] = n.managedFields(metadata[key])
		case !isText || value == "":
			out[key] = n.value(metadata[key])
		case key == "resourceVersion" && versionKind == symbolList && value != "0":
			out[key] = n.symbol(symbolList, value) // By chance it may be an object's version, too.
		case key == "resourceVersion":
			out[key] = n.version(versionKind, value)
		case key == "continue":
			out[key] = n.symbol(symbolContinue, value)
		case key == "creationTimestamp":
			out[key] = created
		case key == "deletionTimestamp":
			out[key] = symbolTime
		default:
			out[key] = n.text(value)
		}
	}
	return out
}

func (n *normalizer) managedFields(value any) any {
	out := n.value(value)
	entries, _ := out.([]any)
	for _, entry := range entries {
		if fields, ok := entry.(map[string]any); ok && fields["time"] != nil {
			fields["time"] = symbolTime
		}
	}
	return out
}
