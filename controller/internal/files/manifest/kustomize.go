// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"io"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// patches has the files that kustomizations use as patches, by their resolved paths, and the kustomization of each.
type patches map[string]string

// maxKustomization is how many bytes of a kustomization are read.
const maxKustomization = 1 << 20

// isKustomization tells by the name: what is in it need not say so.
func isKustomization(path string) bool {
	name := filepath.Base(path)
	return name == "kustomization.yaml" || name == "kustomization.yml"
}

// add reads a file if it is a kustomization by its name. Loading it reports its errors.
func (p patches) add(path string) {
	if !isKustomization(path) {
		return
	}
	file, err := os.Open(path)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }() // Nothing was written.
	var content struct {
		Patches, PatchesJSON6902 []struct{ Path string }
		// PatchesStrategicMerge has paths and texts; no file has the name of a text.
		PatchesStrategicMerge []string
	}
	data, err := io.ReadAll(io.LimitReader(file, maxKustomization))
	if err != nil || yaml.Unmarshal(data, &content) != nil {
		return
	}
	names := content.PatchesStrategicMerge
	for _, patch := range append(content.Patches, content.PatchesJSON6902...) {
		names = append(names, patch.Path)
	}
	for _, name := range names {
		p[realPath(filepath.Join(filepath.Dir(path), name))] = path
	}
}
