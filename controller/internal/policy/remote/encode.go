// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/docket-project/docket/controller/internal/policy"
)

// describe returns what a policy says about itself.
func describe(p policy.Policy) Description {
	d := Description{
		Identity: p.Identity(), Presentation: p.Presentation(), Fingerprint: p.Fingerprint(), Background: p.Background(),
		Reported: p.Reported(), Admission: p.Admission(), Entries: p.Entries(), ReadsNamespace: p.ReadsNamespace(), ReadsStatus: p.ReadsStatus(),
		Targets: p.Targets(), Problem: textOf(p.Problem()), Doubt: textOf(p.Doubt()), LeftOut: p.LeftOut(),
		Ignored: policy.IgnoredExceptions(p), Coverage: policy.CoverageOf(p),
	}
	_ = errors.As(p.Doubt(), &d.Unknown)
	return d
}

// encodeSubject fails if the object is too large.
func encodeSubject(subject policy.Subject) (Subject, error) {
	encoded := Subject{Object: subject.JSON, Resource: subject.Resource, NamespaceLabels: subject.NamespaceLabels}
	var err error
	if encoded.Object == nil {
		if encoded.Object, err = encodeObject(subject.Object); err != nil {
			return encoded, err
		}
	}
	if err := checkSize(encoded.Object); err != nil {
		return encoded, err
	}
	encoded.Namespace, err = encodeNamespace(subject.NamespaceObject)
	return encoded, err
}

func (s *Subject) decode() (policy.Subject, error) {
	subject := policy.Subject{Resource: s.Resource, NamespaceLabels: s.NamespaceLabels}
	var err error
	if subject.Object, err = decodeObject(s.Object); err != nil {
		return subject, err
	}
	subject.NamespaceObject, err = decodeNamespace(s.Namespace)
	return subject, err
}

// encodeRequest returns a review for all policies that don't read roles.
func encodeRequest(request *policy.Request) (Review, error) {
	review := Review{NamespaceLabels: request.NamespaceLabels}
	var err error
	if review.Request, err = stdjson.Marshal(request.AdmissionRequest); err != nil {
		return review, err
	}
	if review.New, err = encodeObject(request.New); err != nil {
		return review, err
	}
	if review.Old, err = encodeObject(request.Old); err != nil {
		return review, err
	}
	if err := checkSize(review.Request); err != nil {
		return review, err
	}
	review.Namespace, err = encodeNamespace(request.NamespaceObject)
	return review, err
}

// addRoles asks for the roles of the user.
func (r *Review) addRoles(request *policy.Request) {
	if request.Roles == nil {
		return
	}
	roles, clusterRoles, err := request.Roles()
	r.Roles = &Roles{Roles: roles, ClusterRoles: clusterRoles, Error: textOf(err)}
}

func (r *Review) decode() (*policy.Request, error) {
	request := &policy.Request{AdmissionRequest: &admissionv1.AdmissionRequest{}, NamespaceLabels: r.NamespaceLabels}
	if err := stdjson.Unmarshal(r.Request, request.AdmissionRequest); err != nil {
		return nil, fmt.Errorf("decode a request: %w", err)
	}
	for _, object := range []struct {
		data []byte
		into **unstructured.Unstructured
	}{{r.New, &request.New}, {r.Old, &request.Old}} {
		if len(object.data) == 0 {
			continue
		}
		var err error
		if *object.into, err = decodeObject(object.data); err != nil {
			return nil, err
		}
	}
	var err error
	if request.NamespaceObject, err = decodeNamespace(r.Namespace); err != nil {
		return nil, err
	}
	request.Roles = func() (roles, clusterRoles []string, err error) {
		switch {
		case r.Roles == nil:
			return nil, nil, errors.New("the policy has not said that it reads roles")
		case r.Roles.Error != "":
			return nil, nil, errors.New(r.Roles.Error)
		}
		return r.Roles.Roles, r.Roles.ClusterRoles, nil
	}
	return request, nil
}

// encodeObject returns the JSON of an object; nothing if there is none.
func encodeObject(object *unstructured.Unstructured) ([]byte, error) {
	if object == nil || object.Object == nil {
		return nil, nil
	}
	data, err := stdjson.Marshal(object.Object)
	if err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return data, nil
}

func checkSize(data []byte) error {
	if len(data) > maxObject {
		return fmt.Errorf("the object has %d MiB; an engine that is a process of its own takes %d MiB at most", len(data)>>20, maxObject>>20)
	}
	return nil
}

func encodeNamespace(namespace *corev1.Namespace) ([]byte, error) {
	if namespace == nil {
		return nil, nil
	}
	return stdjson.Marshal(namespace)
}

func decodeNamespace(data []byte) (*corev1.Namespace, error) {
	if len(data) == 0 {
		return nil, nil //nolint:nilnil // There is none.
	}
	namespace := &corev1.Namespace{}
	if err := json.Unmarshal(data, namespace); err != nil {
		return nil, fmt.Errorf("decode a namespace: %w", err)
	}
	return namespace, nil
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// errorOf returns the error with a text. Those of contexts are told apart from others.
func errorOf(text string) error {
	for _, err := range []error{context.DeadlineExceeded, context.Canceled} {
		if text == err.Error() {
			return err
		}
	}
	return errors.New(text)
}
