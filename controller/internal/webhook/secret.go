// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/internal/certificate"
)

const (
	// ownAnnotation marks the Secret's content as ours.
	ownAnnotation = "docket.dev/webhook-certificate"
	ownValue      = "docket-controller"

	secretInterval = time.Minute
	// requestTime bounds requests for the Secret and for the configuration.
	requestTime = 15 * time.Second
	// attempts bounds the conflicts in a row: each means that another replica has written.
	attempts = 5
)

// shared is the source of certificates that are in a Secret, which all replicas renew.
type shared struct {
	config  *Config
	secrets typedcorev1.SecretInterface
}

func newShared(config *Config) *shared {
	return &shared{config: config, secrets: config.Client.CoreV1().Secrets(config.Namespace)}
}

func (*shared) interval() time.Duration { return secretInterval }

// load returns what is in the Secret, after renewing what is due. If that can't be written, it
// returns what is there together with the error.
func (s *shared) load(ctx context.Context) (*loaded, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	var err error
	for range attempts {
		var found *material
		found, err = s.once(ctx)
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			continue // Another replica was first: what it wrote is read.
		}
		if err != nil {
			err = fmt.Errorf("secret %s/%s: %w", s.config.Namespace, s.config.Secret, err)
		}
		if found == nil {
			return nil, err
		}
		result, loadErr := loadedFrom(found)
		return result, errors.Join(err, loadErr)
	}
	return nil, fmt.Errorf("secret %s/%s: %w", s.config.Namespace, s.config.Secret, err)
}

// once reads the Secret and writes what has to be renewed.
func (s *shared) once(ctx context.Context) (*material, error) {
	secret, missing, err := s.get(ctx)
	if err != nil {
		return nil, err
	}
	var have *material
	if len(secret.Data) > 0 {
		if err := own(secret); err != nil {
			return nil, err
		}
		if have, err = parse(secret.Data); err != nil {
			klog.FromContext(ctx).Error(err, "The webhook's Secret is damaged and is made again", "secret", klog.KObj(secret))
		}
	}
	next, news, waiting := s.renewal(ctx).next(have)
	if next == nil {
		return nil, waiting
	}
	if news == "" {
		return next, waiting
	}
	if err := s.put(ctx, secret, next, missing); err != nil {
		if !apierrors.IsConflict(err) && have != nil && have.usable(s.config.Clock.Now()) {
			return have, fmt.Errorf("renew the %s: %w", news, err)
		}
		return nil, err
	}
	klog.FromContext(ctx).Info("Renewed the webhook's certificates", "secret", klog.KObj(secret), "new", news,
		"until", next.serving.Certificate.NotAfter)
	return next, waiting
}

func (s *shared) renewal(ctx context.Context) renewal {
	return renewal{hosts: s.config.hosts(), now: s.config.Clock.Now(), trusted: func(authority *x509.Certificate) (bool, error) {
		if s.config.Trusted == nil {
			return true, nil
		}
		trusted, err := s.config.Trusted(ctx, authority)
		if err != nil {
			return false, fmt.Errorf("ask whether a new authority is trusted: %w", err)
		}
		return trusted, nil
	}}
}

// get returns an empty Secret if there is none.
func (s *shared) get(ctx context.Context) (secret *corev1.Secret, missing bool, err error) {
	secret, err = s.secrets.Get(ctx, s.config.Secret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.config.Namespace, Name: s.config.Secret}}, true, nil
	}
	return secret, false, err
}

// own reports whether the content is ours to replace.
func own(secret *corev1.Secret) error {
	if secret.Annotations[ownAnnotation] == ownValue {
		return nil
	}
	for _, value := range secret.Data {
		if len(value) > 0 {
			return errors.New("has content that is not docket-controller's; name another one with --webhook-secret, or, if its certificate is to be served, mount it and give --webhook-cert-dir")
		}
	}
	return nil
}

func (s *shared) put(ctx context.Context, secret *corev1.Secret, next *material, missing bool) error {
	data, err := next.data()
	if err != nil {
		return err
	}
	secret = secret.DeepCopy()
	secret.Data = data
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, ownAnnotation, ownValue)
	if !missing {
		_, err = s.secrets.Update(ctx, secret, metav1.UpdateOptions{})
		return err
	}
	_, err = s.secrets.Create(ctx, secret, metav1.CreateOptions{})
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("is missing and may not be created; create it empty, as the manifests do: %w", err)
	}
	return err
}

func loadedFrom(m *material) (*loaded, error) {
	pair, err := tls.X509KeyPair(m.serving.CertificatePEM, m.serving.KeyPEM)
	if err != nil {
		return nil, fmt.Errorf("serving certificate: %w", err)
	}
	bundle, err := m.bundle.PEM()
	if err != nil {
		return nil, fmt.Errorf("authorities: %w", err)
	}
	return &loaded{pair: &pair, bundle: bundle, authorityEnd: m.signer.Certificate.NotAfter}, nil
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
			if !holds(configuration.Webhooks[i].ClientConfig.CABundle, authority) {
				return false, nil
			}
		}
		return true, nil
	}
}

func holds(bundle []byte, authority *x509.Certificate) bool {
	parsed, err := certificate.ParseBundle(bundle)
	if err != nil {
		return false // Others may have written it; the registrar puts it right.
	}
	for _, known := range parsed {
		if known.Equal(authority) {
			return true
		}
	}
	return false
}
