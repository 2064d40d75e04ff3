// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/docket-project/docket/deploy"
)

// Priorities of the APIServices, wherever they are made.
const (
	// GroupPriorityMinimum is what kube-apiserver gives to the groups of CRDs: among
	// groups with resources of the same name or short name, nothing changes for clients
	// when Docket takes a group over. A group has the highest number of its versions.
	GroupPriorityMinimum = 1000
	// VersionPriority is the highest number that an APIService may have. kube-apiserver
	// gives 100 to each version of a CRD, and where numbers are equal, the names of the
	// versions decide: v1beta1 goes before v1alpha2. The version that comes first is the
	// one in which kubectl, the deletion of namespaces, the garbage collector and quotas
	// look at a resource. If that is a version that a CRD of another tool brings, they
	// look into etcd: reports in Docket are not shown, and outlive their namespace.
	VersionPriority = 1000
)

// objects returns all objects in the order in which they are to be created.
func (p Parameters) objects() ([]any, error) {
	var all []any
	for _, name := range []string{"namespace", "serviceaccount", "rbac", "service", "apiservices"} {
		name = "base/" + name + ".yaml"
		objects, err := read(name)
		if err != nil {
			return nil, fmt.Errorf("deploy/%s: %w", name, err)
		}
		if name == "base/apiservices.yaml" {
			objects = p.withFurther(objects)
		}
		for _, object := range objects {
			wanted, err := p.set(object)
			if err != nil {
				return nil, fmt.Errorf("deploy/%s: %s %s: %w", name, object.GetKind(), object.GetName(), err)
			}
			if wanted {
				all = append(all, object.Object)
			}
		}
	}
	return all, nil
}

// withFurther adds APIServices like that of a group of reports.
func (p Parameters) withFurther(services []*unstructured.Unstructured) []*unstructured.Unstructured {
	for _, version := range p.Further {
		service := services[0].DeepCopy()
		service.SetName(version.Version + "." + version.Group)
		spec, _ := service.Object["spec"].(map[string]any)
		spec["group"], spec["version"] = version.Group, version.Version
		services = append(services, service)
	}
	return services
}

// read returns the objects in a file of deploy.
func read(name string) ([]*unstructured.Unstructured, error) {
	data, err := fs.ReadFile(deploy.Registration(), name)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for documents := utilyaml.NewYAMLToJSONDecoder(bytes.NewReader(data)); ; {
		var object unstructured.Unstructured
		switch err := documents.Decode(&object); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, err
		}
		objects = append(objects, &object)
	}
}

// set replaces the values of deploy/base in object by the parameters, and returns whether
// the object is wanted: for the chosen groups, and the namespace only on request.
func (p Parameters) set(object *unstructured.Unstructured) (wanted bool, err error) {
	if object.GetNamespace() == DefaultNamespace {
		object.SetNamespace(p.Namespace)
	}
	switch object.GetKind() {
	case "Namespace":
		object.SetName(p.Namespace)
		return p.CreateNamespace, nil
	case "ClusterRole":
		return p.setRules(object.Object)
	case "ClusterRoleBinding", "RoleBinding":
		return true, setInList(object.Object, "namespace", p.Namespace, "subjects")
	case "Service":
		object.SetName(p.Service)
		return true, setInList(object.Object, "port", int64(p.HTTPSPort), "spec", "ports")
	case "APIService":
		return p.setAPIService(object.Object)
	default:
		return true, nil
	}
}

// setRules removes the rules about groups that were not chosen. A role is wanted if a
// rule is left.
func (p Parameters) setRules(role map[string]any) (wanted bool, err error) {
	rules, _, err := unstructured.NestedSlice(role, "rules")
	if err != nil {
		return false, err
	}
	rules = slices.DeleteFunc(rules, func(rule any) bool {
		fields, _ := rule.(map[string]any)
		groups, _, _ := unstructured.NestedStringSlice(fields, "apiGroups")
		return slices.ContainsFunc(groups, p.leavesOut)
	})
	return len(rules) > 0, unstructured.SetNestedSlice(role, rules, "rules")
}

// setAPIService sets where the server is, and who signed its certificate. Wanted are the
// versions of the chosen groups.
func (p Parameters) setAPIService(service map[string]any) (wanted bool, err error) {
	group, _, err := unstructured.NestedString(service, "spec", "group")
	if err != nil || !slices.Contains(p.Groups, group) {
		return false, err
	}
	reference := map[string]any{"namespace": p.Namespace, "name": p.Service, "port": int64(p.HTTPSPort)}
	if err := unstructured.SetNestedMap(service, reference, "spec", "service"); err != nil {
		return false, err
	}
	if len(p.CABundle) > 0 {
		err = unstructured.SetNestedField(service, base64.StdEncoding.EncodeToString(p.CABundle), "spec", "caBundle")
	}
	return true, err
}

// setInList sets a field in each element of the list at path.
func setInList(object map[string]any, field string, value any, path ...string) error {
	list, _, err := unstructured.NestedSlice(object, path...)
	if err != nil {
		return err
	}
	for _, element := range list {
		fields, ok := element.(map[string]any)
		if !ok {
			return fmt.Errorf("%s: %v is not an object", strings.Join(path, "."), element)
		}
		fields[field] = value
	}
	return unstructured.SetNestedSlice(object, list, path...)
}
