// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/docket-project/docket/internal/server/imports"
)

// lookDefined returns a group whose kinds the CRDs of the cluster say. Docket has to serve the same
// kinds by equal definitions: the switch moves whole versions of a group, and what one side would
// leave out of an object must be the same as on the other.
func (m *Crds) lookDefined(ctx context.Context, name string, crds map[string]*unstructured.Unstructured) (group, error) {
	g := group{name: name}
	definitions, err := m.definitions(ctx, name)
	if err != nil {
		return g, err
	}
	for missing := range definitions {
		if crds[missing] == nil {
			return g, fmt.Errorf("the cluster has no CustomResourceDefinition %s, which the server serves: apply it to the cluster, "+
				"or take it from the server's --custom-resources", missing)
		}
	}
	for _, crd := range slices.Sorted(maps.Keys(crds)) {
		if definitions[crd] == nil {
			return g, fmt.Errorf("the server does not serve %s, which the cluster has a CustomResourceDefinition of: "+
				"give it to the server with --custom-resources, or delete it from the cluster", crd)
		}
		if err := compareDefinitions(crds[crd], definitions[crd]); err != nil {
			return g, err
		}
		kind, err := m.options.Define(definitions[crd].Object)
		if err != nil {
			return g, fmt.Errorf("definition %s of the server: %w", crd, err)
		}
		if err := checkCRD(kind, crds[crd]); err != nil {
			return g, err
		}
		g.kinds = append(g.kinds, kind)
	}
	g.services = servicesOf(g.kinds)
	return g, nil
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
		object := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(definition, &object.Object); err != nil {
			return nil, fmt.Errorf("definitions of the server: %w", err)
		}
		found[object.GetName()] = object
	}
	return found, nil
}

// compareDefinitions returns an error that names what differs in the definitions of a kind, with the
// remedy. Whether a version is served, its columns and descriptions have no effect on stored objects.
func compareDefinitions(crd, definition *unstructured.Unstructured) error {
	inCluster, err := leaves(crd)
	if err != nil {
		return err
	}
	inDocket, err := leaves(definition)
	if err != nil {
		return err
	}
	paths := slices.Sorted(maps.Keys(inCluster))
	paths = slices.AppendSeq(paths, maps.Keys(inDocket)) // Those that only Docket has.
	for _, path := range paths {
		if one, other := inCluster[path], inDocket[path]; one != other {
			return fmt.Errorf("CustomResourceDefinition %s: %s is %s in the cluster and %s in Docket: give the server the definition of the cluster with --custom-resources",
				crd.GetName(), path, cmp.Or(one, "absent"), cmp.Or(other, "absent"))
		}
	}
	return nil
}

// leaves returns the values in a definition that have an effect on stored objects, by path.
func leaves(definition *unstructured.Unstructured) (map[string]string, error) {
	found := map[string]string{}
	for _, path := range []string{"scope", "names.kind"} {
		value, _, _ := unstructured.NestedString(definition.Object, append([]string{"spec"}, strings.Split(path, ".")...)...)
		found["spec."+path] = value
	}
	versions, err := versionsOf(definition)
	for _, version := range versions {
		for _, part := range []string{"storage", "schema", "subresources"} {
			if value, ok := version[part]; ok && version["name"] != migrationVersion {
				addLeaves(found, fmt.Sprintf("spec.versions[%v].%s", version["name"], part), value)
			}
		}
	}
	return found, err
}

func addLeaves(found map[string]string, path string, value any) {
	object, ok := value.(map[string]any)
	if !ok {
		found[path] = fmt.Sprint(value)
	} else if len(object) == 0 {
		found[path] = "{}"
	}
	for name, member := range object {
		if _, text := member.(string); name != "description" || !text {
			addLeaves(found, path+"."+name, member)
		}
	}
}
