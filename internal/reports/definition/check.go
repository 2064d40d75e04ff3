// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Check sets the defaults of a definition, and its status to that of one that is served, or says why it can't be
// served.
func Check(crd *apiextensionsv1.CustomResourceDefinition) error {
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(crd)
	if crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter {
		return fmt.Errorf("definition %s: spec.conversion.strategy: no webhook is called to convert objects: "+
			"keep this kind in etcd, or state None if all versions have the same schema", crd.Name)
	}
	// A definition that was taken from a cluster has more, which is that server's.
	crd.ObjectMeta = metav1.ObjectMeta{
		Name: crd.Name, Namespace: crd.Namespace, Labels: crd.Labels, Annotations: crd.Annotations, Generation: 1,
	}
	delete(crd.Annotations, provenAnnotation)
	crd.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
	addStorageVersion(crd)
	internal, err := toInternal(crd)
	if err != nil {
		return err
	}
	if err := refusal(crd, validation.ValidateCustomResourceDefinition(context.Background(), internal)); err != nil {
		return err
	}
	crd.Status.AcceptedNames = *crd.Spec.Names.DeepCopy()
	// Without a time, so that equal definitions stay equal.
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
		{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue, Reason: "NoConflicts", Message: "no conflicts found"},
		{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue, Reason: "InitialNamesAccepted", Message: "the initial names have been accepted"},
	}
	return nil
}

// CheckUpdate says why a definition can't take the place of an older one of its name. Both passed Check. If it can,
// newer gets the versions in which objects may be stored.
func CheckUpdate(newer, older *apiextensionsv1.CustomResourceDefinition) error {
	next, before := newer.DeepCopy(), older.DeepCopy()
	next.Status = *before.Status.DeepCopy()
	addStorageVersion(next)
	stored := next.Status.StoredVersions
	// The library compares objects that a server has.
	before.UID, before.ResourceVersion, before.CreationTimestamp = newer.UID, "1", newer.CreationTimestamp
	next.ResourceVersion = "1"
	nextInternal, err := toInternal(next)
	if err != nil {
		return err
	}
	beforeInternal, err := toInternal(before)
	if err != nil {
		return err
	}
	errs := validation.ValidateCustomResourceDefinitionUpdate(context.Background(), nextInternal, beforeInternal)
	if err := refusal(newer, errs); err != nil {
		return err
	}
	newer.Status.StoredVersions = stored
	if Proven(older) && reflect.DeepEqual(schemas(newer), schemas(older)) {
		SetProven(newer)
	}
	return nil
}

// provenAnnotation marks definitions in the database.
const provenAnnotation = "docket.dev/proven"

// SetProven notes that all objects that are stored were judged by the schemas of a definition.
func SetProven(crd *apiextensionsv1.CustomResourceDefinition) {
	metav1.SetMetaDataAnnotation(&crd.ObjectMeta, provenAnnotation, "true")
}

// Proven says whether all objects that are stored were judged by the schemas of a definition, and have the form that
// these give them. It was so since there are objects, or is never known again.
func Proven(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return crd.Annotations[provenAnnotation] == "true"
}

func schemas(crd *apiextensionsv1.CustomResourceDefinition) map[string]*apiextensionsv1.CustomResourceValidation {
	all := map[string]*apiextensionsv1.CustomResourceValidation{}
	for _, v := range crd.Spec.Versions {
		all[v.Name] = v.Schema
	}
	return all
}

// CheckAll says whether definitions, which passed Check, can be served together, by a server that serves reserved
// groups itself.
func CheckAll(crds []*apiextensionsv1.CustomResourceDefinition, reserved []string) error {
	// Owners of names of resources, and of kinds, in a group.
	type key struct{ group, of, name string }
	owners := map[key]string{}
	var errs []error
	for _, crd := range crds {
		group := crd.Spec.Group
		if slices.Contains(reserved, group) {
			errs = append(errs, fmt.Errorf("definition %s: spec.group: this server serves %s by itself: remove the definition", crd.Name, group))
			continue
		}
		names := &crd.Spec.Names
		taken := []struct{ field, of, name string }{
			{"plural", "resource", names.Plural}, {"singular", "resource", names.Singular},
			{"kind", "kind", names.Kind}, {"listKind", "kind", names.ListKind},
		}
		for _, name := range names.ShortNames {
			taken = append(taken, struct{ field, of, name string }{"shortNames", "resource", name})
		}
		for _, name := range taken {
			k := key{group, name.of, name.name}
			if owner, ok := owners[k]; ok && owner != crd.Name {
				errs = append(errs, fmt.Errorf("definitions %s and %s: spec.names.%s: both have the name %q in the group %s: change it in one of them",
					owner, crd.Name, name.field, name.name, group))
				continue
			}
			owners[k] = crd.Name
		}
	}
	return errors.Join(errs...)
}

// addStorageVersion adds the version in which objects are stored to those in which they may be.
func addStorageVersion(crd *apiextensionsv1.CustomResourceDefinition) {
	for _, v := range crd.Spec.Versions {
		if v.Storage && !slices.Contains(crd.Status.StoredVersions, v.Name) {
			crd.Status.StoredVersions = append(crd.Status.StoredVersions, v.Name)
			return
		}
	}
}

func toInternal(crd *apiextensionsv1.CustomResourceDefinition) (*apiextensions.CustomResourceDefinition, error) {
	internal := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd.DeepCopy(), internal, nil); err != nil {
		return nil, fmt.Errorf("definition %s: %w", crd.Name, err)
	}
	return internal, nil
}

// refusal is the error of a definition that kube-apiserver refuses.
func refusal(crd *apiextensionsv1.CustomResourceDefinition, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("definition %s: kube-apiserver would refuse it too, correct it: %w", crd.Name, errs.ToAggregate())
}
