// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package review serves the three APIs with which clients ask a server about
// themselves: who am I (kubectl auth whoami), may I do this (kubectl auth can-i), what
// may I do (kubectl auth can-i --list). The answers come from the server's own
// authorizer; nothing is stored.
package review

import (
	"context"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/docket-project/docket/internal/apiserver"
)

// New returns the groups authorization.k8s.io/v1 and authentication.k8s.io/v1.
func New(decide authorizer.Authorizer, rules authorizer.RuleResolver) (apiserver.ExtraAPIs, error) {
	scheme := runtime.NewScheme()
	served := runtime.NewScheme()
	storages := map[schema.GroupVersion]map[string]rest.Storage{
		authorizationv1.SchemeGroupVersion: {
			"selfsubjectaccessreviews": newStorage("SelfSubjectAccessReview", &authorizationv1.SelfSubjectAccessReview{}, accessReview(decide)),
			"selfsubjectrulesreviews":  newStorage("SelfSubjectRulesReview", &authorizationv1.SelfSubjectRulesReview{}, rulesReview(rules)),
		},
		authenticationv1.SchemeGroupVersion: {
			"selfsubjectreviews": newStorage("SelfSubjectReview", &authenticationv1.SelfSubjectReview{}, selfReview),
		},
	}
	register := runtime.NewSchemeBuilder(authorizationv1.AddToScheme, authenticationv1.AddToScheme)
	if err := register.AddToScheme(scheme); err != nil {
		return apiserver.ExtraAPIs{}, fmt.Errorf("register the review APIs: %w", err)
	}
	if err := register.AddToScheme(served); err != nil {
		return apiserver.ExtraAPIs{}, fmt.Errorf("register the review APIs: %w", err)
	}
	addInternal(scheme)
	codecs := serializer.NewCodecFactory(scheme)
	extra := apiserver.ExtraAPIs{Definitions: definitions, Scheme: served}
	for _, version := range []schema.GroupVersion{authenticationv1.SchemeGroupVersion, authorizationv1.SchemeGroupVersion} {
		group := genericapiserver.NewDefaultAPIGroupInfo(version.Group, scheme, runtime.NewParameterCodec(scheme), codecs)
		group.VersionedResourcesStorageMap[version.Version] = storages[version]
		extra.Groups = append(extra.Groups, &group)
	}
	return extra, nil
}

// addInternal makes the served types the internal ones, too: there is one version.
func addInternal(scheme *runtime.Scheme) {
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	scheme.AddKnownTypes(schema.GroupVersion{Group: authorizationv1.GroupName, Version: runtime.APIVersionInternal},
		&authorizationv1.SelfSubjectAccessReview{}, &authorizationv1.SelfSubjectRulesReview{})
	scheme.AddKnownTypes(schema.GroupVersion{Group: authenticationv1.GroupName, Version: runtime.APIVersionInternal},
		&authenticationv1.SelfSubjectReview{})
}

// definitions tell OpenAPI that the kinds exist. Their fields are left open: the
// types belong to Kubernetes, and clients have them.
func definitions(common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	all := map[string]common.OpenAPIDefinition{}
	for _, name := range []string{
		authorizationv1.SelfSubjectAccessReview{}.OpenAPIModelName(),
		authorizationv1.SelfSubjectRulesReview{}.OpenAPIModelName(),
		authenticationv1.SelfSubjectReview{}.OpenAPIModelName(),
	} {
		open := spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
		open.AddExtension("x-kubernetes-preserve-unknown-fields", true)
		all[name] = common.OpenAPIDefinition{Schema: open}
	}
	return all
}

// answer fills in the status of a review. who is never nil.
type answer func(ctx context.Context, who user.Info, review runtime.Object) error

// storage answers reviews and keeps none.
type storage struct {
	kind   string
	sample runtime.Object
	answer answer
}

var (
	_ rest.Creater              = &storage{}
	_ rest.Scoper               = &storage{}
	_ rest.SingularNameProvider = &storage{}
	_ rest.KindProvider         = &storage{}
)

func newStorage(kind string, sample runtime.Object, fill answer) *storage {
	return &storage{kind: kind, sample: sample, answer: fill}
}

// New implements rest.Storage.
func (s *storage) New() runtime.Object { return s.sample.DeepCopyObject() }

// Destroy implements rest.Storage.
func (s *storage) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (s *storage) NamespaceScoped() bool { return false }

// Kind implements rest.KindProvider.
func (s *storage) Kind() string { return s.kind }

// GetSingularName implements rest.SingularNameProvider.
func (s *storage) GetSingularName() string { return strings.ToLower(s.kind) }

// Create implements rest.Creater.
func (s *storage) Create(ctx context.Context, review runtime.Object, validate rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	who, ok := request.UserFrom(ctx)
	if !ok {
		return nil, apierrors.NewUnauthorized("the request has no user")
	}
	if validate != nil {
		if err := validate(ctx, review.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	if err := s.answer(ctx, who, review); err != nil {
		return nil, err
	}
	return review, nil
}
