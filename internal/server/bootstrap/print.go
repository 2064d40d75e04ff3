// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"encoding/json"

	"sigs.k8s.io/yaml"
)

// Print returns a v1 List of all objects, for `kubectl create -f -` and `kubectl
// apply -f -`. The same parameters give the same bytes.
func Print(p Parameters, format Format) ([]byte, error) {
	if err := p.validated(); err != nil {
		return nil, err
	}
	items, err := p.objects()
	if err != nil {
		return nil, err
	}
	return encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": items}, format)
}

func encode(object map[string]any, format Format) ([]byte, error) {
	if format == YAML {
		return yaml.Marshal(object)
	}
	data, err := json.MarshalIndent(object, "", "  ")
	return append(data, '\n'), err
}
