// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/internal/kit/certificate"
)

// injectPrefix starts the names of the annotations that make cert-manager's cainjector write a
// caBundle.
const injectPrefix = "cert-manager.io/inject-"

// TrustConfig is what a [Trust] works with.
type TrustConfig struct {
	Client dynamic.Interface
	// APIServices returns the names of those of this server now.
	APIServices func() []string
	// Namespace and Service are what these have to point to: others are left alone.
	Namespace, Service string
	// Authority is how the names of authorities begin that this server makes.
	Authority string
}

// Trust has the caBundle of APIServices, by which kube-apiserver knows this server, hold its
// authorities. It changes nothing else of them, and makes none.
type Trust struct {
	config TrustConfig
	client dynamic.ResourceInterface
}

// NewTrust returns what asks for nothing yet.
func NewTrust(config TrustConfig) *Trust {
	return &Trust{config: config, client: config.Client.Resource(schema.GroupVersionResource{
		Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices",
	})}
}

// Trusted reports whether kube-apiserver accepts what an authority signs, wherever it calls this
// server.
func (t *Trust) Trusted(ctx context.Context, authority *x509.Certificate) (bool, error) {
	for _, name := range t.config.APIServices() {
		service, err := t.ours(ctx, name)
		if err != nil {
			return false, err
		}
		if service != nil && !certificate.Holds(bundleOf(service), authority) {
			return false, nil
		}
	}
	return true, nil
}

// Put makes the APIServices trust the authorities of a bundle. Other authorities that they trust already stay
// until they expire: another replica may still serve a certificate signed by one of them.
func (t *Trust) Put(ctx context.Context, bundle []byte, now time.Time) error {
	ours, err := certificate.ParseBundle(bundle)
	if err != nil {
		return fmt.Errorf("authorities of this server: %w", err)
	}
	var errs []error
	for _, name := range t.config.APIServices() {
		err := t.putOne(ctx, name, ours, now)
		if err != nil && !apierrors.IsConflict(err) { // Who was first did the same, or it is done at the next look.
			errs = append(errs, fmt.Errorf("caBundle of the APIService %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func (t *Trust) putOne(ctx context.Context, name string, ours certificate.Bundle, now time.Time) error {
	service, err := t.ours(ctx, name)
	if service == nil || err != nil {
		return err
	}
	before := bundleOf(service)
	next, err := t.merged(before, ours, now).PEM()
	if err != nil {
		return err
	}
	if string(before) == string(next) {
		return nil
	}
	for annotation := range service.GetAnnotations() {
		if strings.HasPrefix(annotation, injectPrefix) {
			return fmt.Errorf("it has the annotation %s, so that cert-manager writes it, too: remove the annotation, or --tls-secret", annotation)
		}
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": service.GetResourceVersion()},
		"spec":     map[string]any{"caBundle": base64.StdEncoding.EncodeToString(next)},
	})
	if err != nil {
		return err
	}
	if _, err := t.client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "docket-serve"}); err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Wrote the authorities of this server into an APIService", "apiService", name, "authorities", len(ours))
	return nil
}

// ours returns an APIService, or nil if there is none that points to this server.
func (t *Trust) ours(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	service, err := t.client.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil // Nobody is registered.
	case err != nil:
		return nil, err
	}
	namespace, _, _ := unstructured.NestedString(service.Object, "spec", "service", "namespace")
	called, _, _ := unstructured.NestedString(service.Object, "spec", "service", "name")
	if namespace != t.config.Namespace || called != t.config.Service {
		return nil, nil // A CRD's, or of another server.
	}
	return service, nil
}

// merged puts the authorities of others before ours.
func (t *Trust) merged(before []byte, ours certificate.Bundle, now time.Time) certificate.Bundle {
	known, err := certificate.ParseBundle(before)
	if err != nil {
		return ours // It was empty, or nothing that kube-apiserver can use.
	}
	others := slices.DeleteFunc(known, func(c *x509.Certificate) bool {
		return strings.HasPrefix(c.Subject.CommonName, t.config.Authority) || !now.Before(c.NotAfter) || slices.ContainsFunc(ours, c.Equal)
	})
	return slices.Concat(others, ours)
}

// bundleOf returns the caBundle as PEM; nothing if there is none.
func bundleOf(service *unstructured.Unstructured) []byte {
	text, _, _ := unstructured.NestedString(service.Object, "spec", "caBundle")
	bundle, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil // The API server keeps none such.
	}
	return bundle
}
