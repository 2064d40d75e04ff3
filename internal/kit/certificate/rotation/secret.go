// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

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
	"k8s.io/utils/clock"
)

const (
	// SecretInterval is how often a [Secret] is read.
	SecretInterval = time.Minute
	// requestTime bounds the requests of one load.
	requestTime = 15 * time.Second
	// attempts bounds the conflicts in a row: each means that another replica has written.
	attempts = 5
)

// SecretConfig configures a [Secret]. Every field except Trusted is required.
type SecretConfig struct {
	Client kubernetes.Interface
	// Namespace and Name identify the Secret.
	Namespace, Name string
	// Annotation with the value Owner marks the content as that of this server: other content is
	// not replaced, and Advice says what to do then.
	Annotation, Owner, Advice string
	// Authority is the name of new authorities, to which the time is added.
	Authority string
	// Hosts are the names and IP addresses by which clients call.
	Hosts []string
	// Trusted reports whether an authority may begin to sign: whether the clients know it. It is
	// nil if nobody has to be asked.
	Trusted func(ctx context.Context, authority *x509.Certificate) (bool, error)
	Clock   clock.WithTicker
}

// Secret is the source of certificates that are in a Secret, which all replicas renew. It renews at
// two thirds of the time.
type Secret struct {
	config  SecretConfig
	secrets typedcorev1.SecretInterface
}

// NewSecret returns a source that asks for nothing until [Secret.Load].
func NewSecret(config SecretConfig) *Secret {
	return &Secret{config: config, secrets: config.Client.CoreV1().Secrets(config.Namespace)}
}

// Interval implements [Source].
func (*Secret) Interval() time.Duration { return SecretInterval }

// Load implements [Source]. It returns the certificates in the Secret, after renewing those that are due. If
// it can't write the Secret, it returns the existing certificates together with the error.
func (s *Secret) Load(ctx context.Context) (*Certificates, error) {
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
			err = fmt.Errorf("secret %s/%s: %w", s.config.Namespace, s.config.Name, err)
		}
		if found == nil {
			return nil, err
		}
		result, loadErr := certificatesOf(found)
		return result, errors.Join(err, loadErr)
	}
	return nil, fmt.Errorf("secret %s/%s: %w", s.config.Namespace, s.config.Name, err)
}

// once reads the Secret and writes what has to be renewed.
func (s *Secret) once(ctx context.Context) (*material, error) {
	secret, missing, err := s.get(ctx)
	if err != nil {
		return nil, err
	}
	var have *material
	if len(secret.Data) > 0 {
		if err := s.own(secret); err != nil {
			return nil, err
		}
		if have, err = parse(secret.Data); err != nil {
			klog.FromContext(ctx).Error(err, "The Secret of the serving certificate is damaged and is made again", "secret", klog.KObj(secret))
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
	klog.FromContext(ctx).Info("Renewed the serving certificates", "secret", klog.KObj(secret), "new", news,
		"until", next.serving.Certificate.NotAfter)
	return next, waiting
}

func (s *Secret) renewal(ctx context.Context) renewal {
	return renewal{authority: s.config.Authority, hosts: s.config.Hosts, now: s.config.Clock.Now(), trusted: func(authority *x509.Certificate) (bool, error) {
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
func (s *Secret) get(ctx context.Context) (secret *corev1.Secret, missing bool, err error) {
	secret, err = s.secrets.Get(ctx, s.config.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.config.Namespace, Name: s.config.Name}}, true, nil
	}
	return secret, false, err
}

// own reports whether the content is ours to replace.
func (s *Secret) own(secret *corev1.Secret) error {
	if secret.Annotations[s.config.Annotation] == s.config.Owner {
		return nil
	}
	for _, value := range secret.Data {
		if len(value) > 0 {
			return fmt.Errorf("has content that is not %s's; %s", s.config.Owner, s.config.Advice)
		}
	}
	return nil
}

func (s *Secret) put(ctx context.Context, secret *corev1.Secret, next *material, missing bool) error {
	data, err := next.data()
	if err != nil {
		return err
	}
	secret = secret.DeepCopy()
	secret.Data = data
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, s.config.Annotation, s.config.Owner)
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

func certificatesOf(m *material) (*Certificates, error) {
	pair, err := tls.X509KeyPair(m.serving.CertificatePEM, m.serving.KeyPEM)
	if err != nil {
		return nil, fmt.Errorf("serving certificate: %w", err)
	}
	bundle, err := m.bundle.PEM()
	if err != nil {
		return nil, fmt.Errorf("authorities: %w", err)
	}
	return &Certificates{
		Pair: &pair, CertificatePEM: m.serving.CertificatePEM, KeyPEM: m.serving.KeyPEM,
		Bundle: bundle, AuthorityEnd: m.signer.Certificate.NotAfter,
	}, nil
}
