// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy"
)

// Documents are the objects of a scan of files, as a cluster would store them. They never change.
type Documents struct {
	kinds *served.Catalog
	// byKind are in the order of their keys.
	byKind map[schema.GroupKind][]stored
	// implied are the namespaces that have to exist where these objects are, and are not among them.
	implied *Documents
}

var (
	namespaceKind = schema.GroupKind{Kind: "Namespace"}
	// always are the namespaces that each cluster has.
	always = []string{corev1.NamespaceDefault, "kube-node-lease", "kube-public", "kube-system"}
)

// stored is an object with its key, by whose order kube-apiserver lists objects.
type stored struct {
	key, version string
	object       *unstructured.Unstructured
}

func store(object *unstructured.Unstructured) stored {
	return stored{keyOf(object.GetNamespace(), object.GetName()), object.GetAPIVersion(), object}
}

func keyOf(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// NewDocuments returns the objects of a list, of whose kinds all are known ([KindsOf]). Of two that have the same kind,
// namespace and name, in whatever versions, the last one counts, as if all were applied in this order. Those that have
// no name yet are all there.
func NewDocuments(list []*unstructured.Unstructured, kinds *served.Catalog) *Documents {
	d := &Documents{kinds: kinds, byKind: map[schema.GroupKind][]stored{}}
	used := sets.New(always...)
	for _, object := range list {
		kind := object.GroupVersionKind().GroupKind()
		if kind == namespaceKind {
			object = labelled(object)
		}
		used.Insert(object.GetNamespace())
		d.byKind[kind] = append(d.byKind[kind], store(object))
	}
	for kind, all := range d.byKind {
		d.byKind[kind] = lastOfEach(all)
	}
	used.Delete("")
	d.implied = &Documents{byKind: map[schema.GroupKind][]stored{}}
	for _, name := range sets.List(used) {
		if !d.has(namespaceKind, name) {
			object := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": namespaceKind.Kind, "metadata": map[string]any{"name": name}, "status": map[string]any{"phase": "Active"},
			}}
			d.implied.byKind[namespaceKind] = append(d.implied.byKind[namespaceKind], store(labelled(object)))
		}
	}
	return d
}

// labelled returns a namespace with the label that the API server adds.
func labelled(namespace *unstructured.Unstructured) *unstructured.Unstructured {
	namespace = namespace.DeepCopy()
	namespace.SetLabels(policy.NamespaceLabels(namespace.GetName(), namespace.GetLabels()))
	return namespace
}

// lastOfEach sorts objects, and leaves out those whose key a later one has as well.
func lastOfEach(all []stored) []stored {
	slices.SortStableFunc(all, byKey)
	kept := all[:0]
	for _, one := range all {
		if last := len(kept) - 1; last >= 0 && kept[last].key == one.key && one.object.GetName() != "" {
			kept = kept[:last]
		}
		kept = append(kept, one)
	}
	return kept
}

func byKey(a, b stored) int { return cmp.Compare(a.key, b.key) }

// has reports whether there is an object with a key, whatever its version.
func (d *Documents) has(kind schema.GroupKind, key string) bool {
	_, found := slices.BinarySearchFunc(d.byKind[kind], stored{key: key}, byKey)
	return found
}

// within returns the objects in the namespace of a selection, or the one with its name.
func (d *Documents) within(of Selection) []stored {
	all := d.byKind[of.Resource.GVK().GroupKind()]
	prefix, end := of.Namespace+"/", of.Namespace+"0" // The character behind the slash.
	switch {
	case of.Name != "":
		prefix = keyOf(of.Namespace, of.Name)
		end = prefix + "\x00"
	case of.Namespace == "":
		return all
	}
	from, _ := slices.BinarySearchFunc(all, stored{key: prefix}, byKey)
	to, _ := slices.BinarySearchFunc(all, stored{key: end}, byKey)
	return all[from:to]
}

// list returns the objects of a selection, its filter apart. Nobody may change them.
func (d *Documents) list(of Selection) ([]stored, error) {
	matches, err := of.matcher(d.selectable(of))
	if err != nil {
		return nil, err
	}
	var list []stored
	version := of.Resource.GroupVersion().String()
	for _, one := range d.within(of) {
		if !matches(one.object) {
			continue
		}
		if one.version != version {
			if one, err = one.in(version, of.Resource); err != nil {
				return nil, err
			}
		}
		list = append(list, one)
	}
	return list, nil
}

// in returns an object in another version of its kind. Versions of a custom resource differ in their name, unless its
// cluster has a webhook that converts; those of Kubernetes' own kinds in more.
func (s stored) in(version string, of served.Resource) (stored, error) {
	if isBuiltIn(of.Group) {
		return stored{}, fmt.Errorf("the %s %s is in the files as %s, and only a cluster can convert it to %s: write it in the version that the policy reads",
			of.Kind, s.key, s.version, version)
	}
	content := maps.Clone(s.object.Object)
	content["apiVersion"] = version
	return stored{s.key, version, &unstructured.Unstructured{Object: content}}, nil
}

// selectableFields are those that kube-apiserver can select by beside the name and the namespace, with the values that
// it gives to objects that have none.
var selectableFields = map[schema.GroupResource]map[string]string{
	{Resource: "pods"}: {
		"spec.nodeName": "", "spec.restartPolicy": "Always", "spec.schedulerName": "default-scheduler", "spec.serviceAccountName": "default",
		"spec.hostNetwork": "false", "status.phase": "Pending", "status.podIP": "", "status.nominatedNodeName": "",
	},
	{Resource: "services"}:                   {"spec.clusterIP": "", "spec.type": "ClusterIP"},
	{Resource: "secrets"}:                    {"type": "Opaque"},
	{Resource: "nodes"}:                      {"spec.unschedulable": "false"},
	{Resource: "namespaces"}:                 {"status.phase": "Active"},
	{Resource: "replicationcontrollers"}:     {"status.replicas": "0"},
	{Group: "apps", Resource: "replicasets"}: {"status.replicas": "0"},
	{Group: "batch", Resource: "jobs"}:       {"status.successful": "0"},
	{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}: {"spec.signerName": ""},
}

// selectable returns the further fields of a selection by which its resource can be selected.
func (d *Documents) selectable(of Selection) map[string]string {
	if of.Fields == "" || isBuiltIn(of.Resource.Group) {
		return selectableFields[of.Resource.GroupResource()]
	}
	found := map[string]string{}
	definition := Selection{Resource: resourceOf(schema.GroupVersionKind{Group: definitions, Version: "v1", Kind: customResourceDefinition}, "", false), Name: of.Resource.GroupResource().String()}
	for _, one := range d.within(definition) {
		versions, _, _ := unstructured.NestedSlice(one.object.Object, "spec", "versions")
		for _, version := range versions {
			fields, _ := version.(map[string]any)
			list, _ := fields["selectableFields"].([]any)
			for _, field := range list {
				selected, _ := field.(map[string]any)
				if path, _ := selected["jsonPath"].(string); path != "" && fields["name"] == of.Resource.Version {
					found[strings.TrimPrefix(path, ".")] = ""
				}
			}
		}
	}
	return found
}
