// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/internal/server/imports"
)

// lookDefined returns a group whose kinds the CRDs of the cluster say. Docket has to serve the same
// kinds by equal definitions: the switch moves whole versions of a group, and what one side would
// leave out of an object must be the same as on the other.
func (m *Crds) lookDefined(ctx context.Context, name string) (group, error) {
	g := group{name: name}
	crds, err := m.crds.of(ctx, name)
	if err != nil || len(crds) == 0 {
		return g, err
	}
	definitions, err := m.definitions(ctx, name)
	if err != nil {
		return g, err
	}
	for _, crd := range crds {
		definition, ok := definitions[crd.GetName()]
		if !ok {
			return g, fmt.Errorf("the server does not serve %s, which the cluster has a CustomResourceDefinition of: "+
				"give it to the server with --custom-resources, or delete it from the cluster", crd.GetName())
		}
		delete(definitions, crd.GetName())
		kind, err := m.defined(crd, definition)
		if err != nil {
			return g, err
		}
		g.kinds = append(g.kinds, kind)
	}
	for missing := range definitions {
		return g, fmt.Errorf("the cluster has no CustomResourceDefinition %s, which the server serves: apply it to the cluster, "+
			"or take it from the server's --custom-resources", missing)
	}
	g.services = servicesOf(g.kinds)
	return g, nil
}

// defined returns the kind of a CRD and of the server's definition, which have to be equal.
func (m *Crds) defined(crd, definition *unstructured.Unstructured) (imports.Kind, error) {
	if err := compareDefinitions(crd, definition); err != nil {
		return imports.Kind{}, err
	}
	data, err := json.Marshal(definition.Object)
	if err != nil {
		return imports.Kind{}, err
	}
	kind, err := m.options.Define(data)
	if err != nil {
		return kind, fmt.Errorf("definition %s of the server: %w", crd.GetName(), err)
	}
	return kind, checkCRD(kind, crd)
}

// definitions returns the server's definitions of a group, by name.
func (m *Crds) definitions(ctx context.Context, name string) (map[string]*unstructured.Unstructured, error) {
	var response imports.DefinitionsResponse
	err := m.inDocket.post(ctx, imports.DefinitionsPath, imports.DefinitionsRequest{Groups: []string{name}}, &response)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("ask Docket: %w", explain(err, "Docket"))
	}
	if len(response.Definitions) == 0 {
		return nil, fmt.Errorf("the server does not serve %s: check that --server is Docket, and that its --custom-resources include the group", name)
	}
	found := map[string]*unstructured.Unstructured{}
	for _, definition := range response.Definitions {
		var object unstructured.Unstructured
		if err := json.Unmarshal(definition, &object.Object); err != nil {
			return nil, fmt.Errorf("definitions of the server: %w", err)
		}
		found[object.GetName()] = &object
	}
	return found, nil
}

// compareDefinitions returns an error that names what differs in the definitions of a kind, with the
// remedy. Whether a version is served, its columns and descriptions have no effect on what is stored.
func compareDefinitions(crd, definition *unstructured.Unstructured) error {
	parts := func(of *unstructured.Unstructured) (map[string]any, error) {
		versions, err := versionsOf(of)
		found := map[string]any{}
		for _, version := range versions {
			if name, _ := version["name"].(string); name != migrationVersion {
				found[name] = map[string]any{
					"storage": version["storage"], "schema": version["schema"], "subresources": version["subresources"],
				}
			}
		}
		scope, _, _ := unstructured.NestedString(of.Object, "spec", "scope")
		kind, _, _ := unstructured.NestedString(of.Object, "spec", "names", "kind")
		return map[string]any{"scope": scope, "names": map[string]any{"kind": kind}, "versions": found}, err
	}
	inCluster, err := parts(crd)
	if err != nil {
		return err
	}
	inDocket, err := parts(definition)
	if err != nil {
		return err
	}
	if path, one, other := difference("spec", inCluster, inDocket); path != "" {
		return fmt.Errorf("CustomResourceDefinition %s: %s is %s in the cluster and %s in Docket: "+
			"give the server the definition of the cluster with --custom-resources", crd.GetName(), path, shown(one), shown(other))
	}
	return nil
}

// difference returns where two trees of JSON differ first, and the values there; "" if they are equal.
func difference(path string, one, other any) (at, inOne, inOther string) {
	a, _ := one.(map[string]any)
	b, _ := other.(map[string]any)
	if a == nil || b == nil {
		if inOne, inOther = asJSON(one), asJSON(other); inOne != inOther {
			return path, inOne, inOther
		}
		return "", "", ""
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name == "description" && !isObject(a[name]) && !isObject(b[name]) {
			continue // Otherwise it is a field of that name.
		}
		if at, inOne, inOther = difference(path+"."+name, a[name], b[name]); at != "" {
			return at, inOne, inOther
		}
	}
	return "", "", ""
}

func isObject(value any) bool {
	_, ok := value.(map[string]any)
	return ok
}

func asJSON(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return err.Error() // Not reached: it comes from JSON.
	}
	return string(data)
}

// shown is a value in an error.
func shown(value string) string {
	const most = 80
	switch {
	case value == "null":
		return "absent"
	case len(value) > most:
		return value[:most] + "…"
	}
	return value
}
