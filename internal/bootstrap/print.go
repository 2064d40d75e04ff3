// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Print returns a v1 List of all objects, for `kubectl create -f -` and `kubectl
// apply -f -`. The same parameters give the same bytes.
func Print(p Parameters, format Format) ([]byte, error) {
	if err := p.validated(); err != nil {
		return nil, err
	}
	list := map[string]any{"apiVersion": "v1", "kind": "List"}
	var items []any
	for _, object := range p.objects() {
		item, err := plain(object)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	list["items"] = items
	return encode(list, format)
}

// plain returns an object as what people would write: without the empty parts that
// Go types have.
func plain(object any) (map[string]any, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("convert %T: %w", object, err)
	}
	delete(content, "status")
	if spec, ok := content["spec"].(map[string]any); ok && len(spec) == 0 {
		delete(content, "spec")
	}
	return content, nil
}

func encode(object map[string]any, format Format) ([]byte, error) {
	if format == YAML {
		return yaml.Marshal(object)
	}
	data, err := json.MarshalIndent(object, "", "  ")
	return append(data, '\n'), err
}
