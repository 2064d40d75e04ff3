// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"crypto/x509"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/certificate/rotation"
)

const (
	// ownAnnotation marks the Secret's content as ours.
	ownAnnotation = "docket.dev/webhook-certificate"
	ownValue      = "docket-controller"
)

// newKeeper returns what has the certificates of the server.
func (s *Server) newKeeper() *rotation.Keeper {
	return rotation.NewKeeper(rotation.KeeperConfig{
		Source: s.config.certificates(), Clock: s.config.Clock, Whose: "webhook",
		Failed: func() { certificateErrors.Inc() },
		Loaded: func(loaded *rotation.Certificates, bundleChanged bool) {
			observeCertificates(loaded)
			if !bundleChanged {
				return
			}
			for _, changed := range s.bundleChanged.Subscribers() {
				changed()
			}
		},
	})
}

// certificates returns where the certificates come from.
func (c *Config) certificates() rotation.Source {
	if c.CertDir != "" {
		return rotation.Files{Dir: c.CertDir, Flag: "--webhook-cert-dir"}
	}
	return rotation.NewSecret(rotation.SecretConfig{
		Client: c.Client, Namespace: c.Namespace, Name: c.Secret, Hosts: c.hosts(), Trusted: c.Trusted, Clock: c.Clock,
		Annotation: ownAnnotation, Owner: ownValue, Authority: "docket-controller webhook",
		Advice: "name another one with --webhook-secret, or, if its certificate is to be served, mount it and give --webhook-cert-dir",
	})
}

// TrustedBy returns a [Config.Trusted] that looks into the ValidatingWebhookConfiguration of that
// name: an authority is trusted if each of its webhooks has it, or if nobody calls because there
// is none.
func TrustedBy(client kubernetes.Interface, name string) func(context.Context, *x509.Certificate) (bool, error) {
	return func(ctx context.Context, authority *x509.Certificate) (bool, error) {
		configuration, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		for i := range configuration.Webhooks {
			if !certificate.Holds(configuration.Webhooks[i].ClientConfig.CABundle, authority) {
				return false, nil
			}
		}
		return true, nil
	}
}
