// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/controller/internal/files/manifest"
)

// Mutants returns copies of an object that differ from it in one place: a field or an element is missing, a list
// is empty, a truth is the other one, a number or a text is another one. What identifies the object stays, so that
// its UID says what was changed. There are at most limit of them, spread over the object; none of a namespace, since
// they would change what policies see of all others in it.
func Mutants(object manifest.Object, limit int) []manifest.Object {
	if object.GetKind() == "Namespace" {
		return nil
	}
	var changes []change
	for _, key := range slices.Sorted(maps.Keys(object.Object)) {
		switch key {
		case "apiVersion", "kind":
		case "metadata":
			metadata, _ := object.Object[key].(map[string]any)
			for _, field := range []string{"labels", "annotations"} {
				if metadata[field] != nil {
					changes = append(changes, changesOf([]any{key, field}, metadata[field])...)
				}
			}
		default:
			changes = append(changes, changesOf([]any{key}, object.Object[key])...)
		}
	}
	step := 1
	if limit > 0 && len(changes) > limit {
		step = (len(changes) + limit - 1) / limit
	}
	var out []manifest.Object
	for i := 0; i < len(changes); i += step {
		out = append(out, changes[i].apply(object))
	}
	return out
}

// change is one change at a path of keys and indexes.
type change struct {
	path []any
	// remove takes the place away; else it gets value.
	remove bool
	value  any
}

// structure are fields without which no server would store the object.
var structure = []any{"spec", "template", "jobTemplate", "containers"}

func changesOf(path []any, value any) []change {
	path = slices.Clip(path)
	var out []change
	required := slices.Contains(structure, path[len(path)-1])
	if !required {
		out = append(out, change{path: path, remove: true})
	}
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			out = append(out, changesOf(append(path, key), value[key])...)
		}
	case []any:
		if !required {
			out = append(out, change{path: path, value: []any{}})
		}
		for i, element := range value {
			out = append(out, changesOf(append(path, i), element)...)
		}
	case bool:
		out = append(out, change{path: path, value: !value})
	case int64:
		out = append(out, change{path: path, value: int64(0)}, change{path: path, value: value + 1}, change{path: path, value: value*100 + 7})
	case string:
		out = append(out, change{path: path, value: ""}, change{path: path, value: value + "x"}, change{path: path, value: "*"}, change{path: path, value: "100"})
	}
	return out
}

func (c change) apply(object manifest.Object) manifest.Object {
	content := runtime.DeepCopyJSON(object.Object)
	set(content, c.path, c)
	mutant := &unstructured.Unstructured{Object: content}
	verb := fmt.Sprintf("= %v", c.value)
	if c.remove {
		verb = "removed"
	}
	mutant.SetUID(types.UID(fmt.Sprintf("%v %s", c.path, verb)))
	return manifest.Object{Unstructured: mutant, Origin: object.Origin, Place: object.Place}
}

// set changes a member of a container and returns the container.
func set(container any, path []any, c change) any {
	last := len(path) == 1
	switch typed := container.(type) {
	case map[string]any:
		key, _ := path[0].(string)
		switch {
		case last && c.remove:
			delete(typed, key)
		case last:
			typed[key] = c.value
		default:
			typed[key] = set(typed[key], path[1:], c)
		}
	case []any:
		index, _ := path[0].(int)
		switch {
		case last && c.remove:
			return slices.Delete(typed, index, index+1)
		case last:
			typed[index] = c.value
		default:
			typed[index] = set(typed[index], path[1:], c)
		}
	}
	return container
}
