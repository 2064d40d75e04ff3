// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/internal/kit/manifests"
	"github.com/docket-project/docket/internal/kit/metric"
)

//go:embed trivy.yaml
var trivy []byte

// Set has at most one mapping for each kind. It doesn't change.
type Set struct {
	mappings map[schema.GroupKind]*Mapping
}

// Load returns the mappings that are built in, and those of files and of the YAML and JSON files in folders, which
// take the place of those that are built in.
func Load(paths ...string) (*Set, error) {
	register()
	s := &Set{mappings: map[schema.GroupKind]*Mapping{}}
	c := compiler{}
	builtIn, err := parse(c, "trivy.yaml", trivy)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, path := range paths {
		found, err := manifests.Find(path)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	from := map[schema.GroupKind]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		mappings, err := parse(c, file, data)
		if err != nil {
			return nil, err
		}
		for _, m := range mappings {
			kind := schema.GroupKind{Group: m.Group, Kind: m.Kind.Kind}
			if other, ok := from[kind]; ok {
				return nil, fmt.Errorf("%s: %s has a mapping in %s already; leave one of them out", file, kind, other)
			}
			from[kind], s.mappings[kind] = file, m
		}
	}
	for _, m := range builtIn {
		kind := schema.GroupKind{Group: m.Group, Kind: m.Kind.Kind}
		if s.mappings[kind] == nil {
			s.mappings[kind] = m
		}
	}
	return s, s.checkNames()
}

// checkNames returns an error for kinds that have one name, which is all that rows have of a kind.
func (s *Set) checkNames() error {
	groups := map[string]string{
		"PolicyReport": "wgpolicyk8s.io", "ClusterPolicyReport": "wgpolicyk8s.io", "Report": "openreports.io", "ClusterReport": "openreports.io",
		"EphemeralReport": "reports.kyverno.io", "ClusterEphemeralReport": "reports.kyverno.io",
	}
	var errs []error
	for _, kind := range s.Kinds() {
		if other, ok := groups[kind.Kind]; ok {
			errs = append(errs, fmt.Errorf("the kind %s of %s can't have a mapping: results name only the kind, and %s has one of this name", kind.Kind, kind.Group, other))
		}
		groups[kind.Kind] = kind.Group
	}
	return errors.Join(errs...)
}

// Of returns the mapping of a kind, nil for none. A nil Set has none.
func (s *Set) Of(kind schema.GroupKind) *Mapping {
	if s == nil {
		return nil
	}
	return s.mappings[kind]
}

// Digest returns a text that is another one whenever the mapping of a kind is; "" for none.
func (s *Set) Digest(kind schema.GroupKind) (string, error) {
	m := s.Of(kind)
	if m == nil {
		return "", nil
	}
	data, err := json.Marshal(m)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), err
}

// Kinds returns the kinds that have a mapping, in the order of their names.
func (s *Set) Kinds() []Kind {
	var kinds []Kind
	if s != nil {
		for _, m := range s.mappings {
			kinds = append(kinds, m.Kind)
		}
	}
	slices.SortFunc(kinds, func(a, b Kind) int { return strings.Compare(a.Kind+"\x00"+a.Group, b.Kind+"\x00"+b.Group) })
	return kinds
}

var (
	failures = metric.Counters("docket_result_mapping_errors_total", "Times that a mapping could not read the results of an object, by resource. The object has one result that says why.", "resource")
	register = metric.Registration(failures)
)
