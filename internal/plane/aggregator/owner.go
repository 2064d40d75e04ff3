// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	"k8s.io/kube-aggregator/pkg/controllers/autoregister"
)

// Owner tells who serves a group version: "CustomResourceDefinition x.y", "this server",
// "the upstream cluster" or "APIService v1.g (Service ns/name)", and whether that is an
// extension server.
func (a *Aggregator) Owner(gv schema.GroupVersion) (owner string, remote bool, ok bool) {
	key := gv.Group + "/" + gv.Version
	if b := a.registry.find(key); b != nil {
		return b.owner(), true, true
	}
	if gv.Group == apiregistration.GroupName {
		return thisServer, false, true
	}
	owner = a.locals.owner(key)
	return owner, false, owner != ""
}

func (b *backend) owner() string {
	service := b.service.Spec.Service
	return fmt.Sprintf("APIService %s (Service %s/%s)", b.name(), service.Namespace, service.Name)
}

// uniqueness is the admission plugin that gives a group version one owner.
type uniqueness struct{ *Aggregator }

var (
	_ admission.MutationInterface   = uniqueness{}
	_ admission.ValidationInterface = uniqueness{}
)

// Admission returns the plugin that refuses registrations of a group version that is served
// already: APIServices, and CustomResourceDefinitions. New has put it before the admission of the
// aggregator itself; the caller puts it into that of the server of custom resources, where
// only its ValidationInterface matters. It is usable as soon as New has returned.
func (a *Aggregator) Admission() admission.Interface { return uniqueness{a} }

// Handles implements admission.Interface.
func (u uniqueness) Handles(operation admission.Operation) bool {
	return operation == admission.Create || operation == admission.Update
}

// Admit implements admission.MutationInterface: where registrations win over what is
// mirrored, it makes room for them.
func (u uniqueness) Admit(ctx context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	service, ok := attributes.GetObject().(*apiregistration.APIService)
	if !ok || attributes.GetSubresource() != "" || service.Spec.Service == nil || u.upstream == nil {
		return nil
	}
	// With this label, the APIService would become local again.
	delete(service.Labels, autoregister.AutoRegisterManagedLabel)
	if attributes.GetOperation() != admission.Create || attributes.IsDryRun() || !u.mayShadow(service) {
		return nil
	}
	old, err := u.informer.Lister().Get(service.Name)
	if apierrors.IsNotFound(err) || err == nil && (old.Spec.Service != nil || old.Labels[autoregister.AutoRegisterManagedLabel] == "") {
		return nil
	}
	if err != nil {
		return err
	}
	u.locals.yield(service.Name)
	err = u.client.ApiregistrationV1().APIServices().Delete(ctx, old.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(old.UID))})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// mayShadow reports whether a service may take the group version from a local owner.
func (u uniqueness) mayShadow(service *apiregistration.APIService) bool {
	return u.upstream != nil && service.Spec.Group != "" && service.Spec.Group != apiregistration.GroupName
}

// Validate implements admission.ValidationInterface.
func (u uniqueness) Validate(_ context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	if attributes.GetSubresource() != "" {
		return nil
	}
	switch object := attributes.GetObject().(type) {
	case *apiregistration.APIService:
		return u.validateAPIService(attributes, object)
	case *apiextensions.CustomResourceDefinition:
		return u.validateDefinition(attributes, object)
	}
	return nil
}

func (u uniqueness) validateAPIService(attributes admission.Attributes, service *apiregistration.APIService) error {
	if service.Spec.Service == nil {
		return nil
	}
	if address, ok := service.Annotations[EndpointAnnotation]; ok {
		if _, err := parseEndpoint(address); err != nil {
			return forbidden(attributes, field.NewPath("metadata", "annotations").Key(EndpointAnnotation), err.Error())
		}
	}
	if old, ok := attributes.GetOldObject().(*apiregistration.APIService); ok && old.Spec.Service != nil {
		return nil // It is the owner.
	}
	path := field.NewPath("spec", "version")
	if service.Spec.Group == "" {
		return forbidden(attributes, field.NewPath("spec", "group"), "the group without a name can't be served by an extension server")
	}
	gv := schema.GroupVersion{Group: service.Spec.Group, Version: service.Spec.Version}
	if b := u.registry.find(gv.String()); b != nil {
		err := apierrors.NewAlreadyExists(attributes.GetResource().GroupResource(), attributes.GetName())
		err.ErrStatus.Message = fmt.Sprintf("%s; %s: group version %s is already served by %s", err.ErrStatus.Message, path, gv, b.owner())
		return withCause(err, path, err.ErrStatus.Message)
	}
	if owner, _, ok := u.Owner(gv); ok && !u.mayShadow(service) {
		return forbidden(attributes, path, fmt.Sprintf("group version %s is already served by %s", gv, owner))
	}
	return nil
}

func (u uniqueness) validateDefinition(attributes admission.Attributes, definition *apiextensions.CustomResourceDefinition) error {
	old, _ := attributes.GetOldObject().(*apiextensions.CustomResourceDefinition)
	for i, version := range definition.Spec.Versions {
		b := u.registry.find(definition.Spec.Group + "/" + version.Name)
		if !version.Served || b == nil || old != nil && serves(old, version.Name) {
			continue
		}
		return forbidden(attributes, field.NewPath("spec", "versions").Index(i).Child("name"),
			fmt.Sprintf("group version %s is already served by %s", b.groupVersion(), b.owner()))
	}
	return nil
}

func serves(definition *apiextensions.CustomResourceDefinition, version string) bool {
	return slices.ContainsFunc(definition.Spec.Versions, func(v apiextensions.CustomResourceDefinitionVersion) bool {
		return v.Served && v.Name == version
	})
}

func forbidden(attributes admission.Attributes, path *field.Path, message string) error {
	err := apierrors.NewForbidden(attributes.GetResource().GroupResource(), attributes.GetName(), fmt.Errorf("%s: %s", path, message))
	return withCause(err, path, message)
}

// withCause names the field for programs.
func withCause(err *apierrors.StatusError, path *field.Path, message string) error {
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: metav1.CauseTypeFieldValueInvalid, Field: path.String(), Message: message,
	})
	return err
}
