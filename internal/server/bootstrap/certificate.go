// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/docket-project/docket/internal/kit/certificate"
)

// secretName is what deploy/base mounts.
const secretName = "docket-tls"

// DefaultLifetime of the serving certificate.
const DefaultLifetime = 365 * 24 * time.Hour

// MinLifetime leaves time to notice that a certificate ends soon.
const MinLifetime = 24 * time.Hour

// LifetimeParameter is the name of the parameter Lifetime.
const LifetimeParameter = "valid-for"

// authorityKey is where the bundle is in the Secret, as cert-manager has it.
const authorityKey = "ca.crt"

// CertificateParameters say for which server a certificate is.
type CertificateParameters struct {
	// Namespace and Service make the name of the server.
	Namespace, Service string
	// Lifetime of certificate and authority.
	Lifetime time.Duration
}

// NewCertificateParameters returns the defaults.
func NewCertificateParameters() CertificateParameters {
	return CertificateParameters{Namespace: DefaultNamespace, Service: DefaultService, Lifetime: DefaultLifetime}
}

// Validate returns all that is wrong, as ParameterErrors.
func (p CertificateParameters) Validate() []error {
	errs := Parameters{Groups: NewParameters().Groups, Namespace: p.Namespace, Service: p.Service, HTTPSPort: DefaultHTTPSPort}.Validate()
	if p.Lifetime < MinLifetime {
		errs = append(errs, &ParameterError{LifetimeParameter, fmt.Sprintf("%s is too short; give at least %s", p.Lifetime, MinLifetime)})
	}
	return errs
}

// Certificate makes an authority and a serving certificate signed by it. It returns
// a Secret with certificate and key, printed, and the bundle that the cluster is to
// trust: the new authority and those of trusted that are not past their end.
//
// The key of the authority is forgotten at once, so that nobody can sign with it
// later. Hence each certificate has an authority of its own, and while one
// certificate replaces another both authorities must be trusted.
func Certificate(p CertificateParameters, trusted certificate.Bundle, now time.Time, format Format) (secret []byte, bundle certificate.Bundle, err error) {
	if err := errors.Join(p.Validate()...); err != nil {
		return nil, nil, err
	}
	// All past their end is as good as none.
	if trusted, err = trusted.At(now); err != nil && !errors.Is(err, certificate.ErrExpired) {
		return nil, nil, err
	}
	authority, err := certificate.NewAuthority("docket bootstrap "+now.UTC().Format(time.RFC3339), now, p.Lifetime)
	if err != nil {
		return nil, nil, fmt.Errorf("make an authority: %w", err)
	}
	name := p.Service + "." + p.Namespace + ".svc" // What kube-apiserver asks for.
	// localhost is for `kubectl port-forward`.
	serving, err := certificate.NewServing(authority, []string{name, "localhost"}, now, p.Lifetime)
	if err != nil {
		return nil, nil, fmt.Errorf("make a serving certificate: %w", err)
	}
	bundle = trusted.With(authority.Certificate)
	bundlePEM, err := bundle.PEM()
	if err != nil {
		return nil, nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: secretName, Namespace: p.Namespace, Labels: map[string]string{"app.kubernetes.io/name": "docket"}},
		Type:       corev1.SecretTypeTLS,
		Data: map[string][]byte{
			corev1.TLSCertKey: serving.CertificatePEM, corev1.TLSPrivateKeyKey: serving.KeyPEM, authorityKey: bundlePEM,
		},
	})
	if err != nil {
		return nil, nil, err
	}
	secret, err = encode(content, format)
	return secret, bundle, err
}

// ReadCABundle returns the authorities in a file that have not expired at now, as
// PEM. If all have expired, the error wraps certificate.ErrExpired.
func ReadCABundle(path string, now time.Time) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	bundle, err := certificate.ParseBundle(data)
	if err == nil {
		bundle, err = bundle.At(now)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return bundle.PEM()
}
