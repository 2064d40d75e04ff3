// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/certificate/rotation"
	"github.com/docket-project/docket/internal/server/bootstrap"
	"github.com/docket-project/docket/internal/server/registration"
)

// CertificateCheck is the name of the readiness check of the certificate of --tls-secret.
const CertificateCheck = "docket-certificate"

const (
	secretFlag           = "tls-secret"
	secretServiceFlag    = "tls-service"
	secretNamespaceFlag  = "tls-namespace"
	certificateAuthority = "docket serve"
	namespaceFile        = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
	// certificateInterval is how often the Secret and the APIServices are read: an APIService that was
	// created just now is useless before it has a caBundle.
	certificateInterval = 10 * time.Second
	// trustTime bounds the requests for APIServices of one look: the next renewal must not wait for them.
	trustTime = 15 * time.Second
	// certificatePatience is how long the first certificate is waited for.
	certificatePatience = time.Minute
)

// CertificateOptions say in which Secret the serving certificate is that the replicas make and renew
// themselves.
type CertificateOptions struct {
	// Secret is its name; without one the certificate is somebody else's affair.
	Secret string
	// Namespace is that of Secret and Service; empty for that of the pod.
	Namespace string
	// Service is what the APIServices point to.
	Service string
	// Clock is the real one if nil.
	Clock clock.WithTicker
}

func newCertificateOptions() *CertificateOptions {
	return &CertificateOptions{Service: bootstrap.DefaultService}
}

func (o *CertificateOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Secret, secretFlag, o.Secret,
		"`Name` of a Secret for a serving certificate that the replicas make and renew, with the caBundle of their APIServices. "+
			"Instead of --tls-cert-file. It needs the rights of deploy/components/own-certificate.")
	fs.StringVar(&o.Service, secretServiceFlag, o.Service, "`Name` of the Service in front of the server, for which the certificate of --tls-secret is.")
	fs.StringVar(&o.Namespace, secretNamespaceFlag, o.Namespace, "`Namespace` of --tls-secret and --tls-service. Inside a pod it is that of the pod.")
}

// on reports whether the server makes its certificate itself.
func (o *CertificateOptions) on() bool { return o != nil && o.Secret != "" }

func (o *Options) validateCertificate() []error {
	if !o.Certificate.on() {
		return nil
	}
	var errs []error
	check := func(flag, value string, problems []string) {
		if len(problems) > 0 {
			errs = append(errs, fmt.Errorf("--%s: %q can't be used: %s", flag, value, strings.Join(problems, "; ")))
		}
	}
	check(secretFlag, o.Certificate.Secret, validation.IsDNS1123Subdomain(o.Certificate.Secret))
	check(secretServiceFlag, o.Certificate.Service, validation.IsDNS1035Label(o.Certificate.Service))
	if o.Certificate.Namespace != "" {
		check(secretNamespaceFlag, o.Certificate.Namespace, validation.IsDNS1123Label(o.Certificate.Namespace))
	}
	if pair := o.SecureServing.ServerCert.CertKey; pair.CertFile != "" || pair.KeyFile != "" {
		errs = append(errs, fmt.Errorf("--%s: the certificate is in --tls-cert-file already; give one of the two", secretFlag))
	}
	return errs
}

// applyCertificate makes the certificate, or gets that of the other replicas. There is something to
// serve when it returns without an error.
func (o CompletedOptions) applyCertificate(ctx context.Context, c *Config, client kubernetes.Interface) error {
	if !o.Certificate.on() {
		return nil
	}
	options := *o.Certificate
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Namespace == "" {
		text, err := os.ReadFile(namespaceFile)
		if err != nil {
			return fmt.Errorf("--%s: is required outside a pod: %w", secretNamespaceFlag, err)
		}
		options.Namespace = strings.TrimSpace(string(text))
	}
	objects, err := dynamic.NewForConfig(c.Generic.ClientConfig)
	if err != nil {
		return fmt.Errorf("--kubeconfig: %w", err)
	}
	c.Certificate.keeper = rotation.NewKeeper(rotation.KeeperConfig{
		Source: options.source(client, objects, c.apiServices), Clock: options.Clock, Whose: "server",
		Loaded: c.Certificate.loaded, Failed: func() { certificateErrors.Inc() },
	})
	ctx, cancel := context.WithTimeout(ctx, certificatePatience)
	defer cancel()
	if err := c.Certificate.keeper.Await(ctx); err != nil {
		return fmt.Errorf("--%s: %w", secretFlag, err)
	}
	return nil
}

// announced is a Secret that writes its authorities to the APIServices.
type announced struct {
	*rotation.Secret

	trust *registration.Trust
	clock clock.Clock
}

func (o *CertificateOptions) source(client kubernetes.Interface, objects dynamic.Interface, services func() []string) announced {
	trust := registration.NewTrust(registration.TrustConfig{
		Client: objects, APIServices: services, Namespace: o.Namespace, Service: o.Service, Authority: certificateAuthority,
	})
	name := o.Service + "." + o.Namespace + ".svc" // What kube-apiserver asks for.
	return announced{trust: trust, clock: o.Clock, Secret: rotation.NewSecret(rotation.SecretConfig{
		Client: client, Namespace: o.Namespace, Name: o.Secret, Clock: o.Clock, Trusted: trust.Trusted,
		// localhost is for `kubectl port-forward`.
		Hosts:      []string{name, name + ".cluster.local", "localhost"},
		Annotation: "docket.dev/serving-certificate", Owner: "docket", Authority: certificateAuthority,
		Advice: "name another one with --" + secretFlag + ", or, if its certificate is to be served, mount it and give --tls-cert-file",
	})}
}

// Interval implements [rotation.Source].
func (announced) Interval() time.Duration { return certificateInterval }

// Load implements [rotation.Source].
func (a announced) Load(ctx context.Context) (*rotation.Certificates, error) {
	loaded, err := a.Secret.Load(ctx)
	if loaded == nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, trustTime)
	defer cancel()
	return loaded, errors.Join(err, a.trust.Put(ctx, loaded.Bundle, a.clock.Now()))
}

// apiServices are the names of the APIServices of what is served now.
func (c *Config) apiServices() []string {
	var names []string
	for _, s := range c.served() {
		names = append(names, s.Version+"."+s.Group)
	}
	return names
}

// servingCertificate hands the certificates of a keeper to the library. It implements
// [dynamiccertificates.CertKeyContentProvider].
type servingCertificate struct {
	// keeper is set before anything is served.
	keeper *rotation.Keeper

	mu        sync.Mutex
	listeners []dynamiccertificates.Listener
}

// Name implements dynamiccertificates.CertKeyContentProvider.
func (*servingCertificate) Name() string { return "Secret of --" + secretFlag }

// CurrentCertKeyContent implements dynamiccertificates.CertKeyContentProvider.
func (s *servingCertificate) CurrentCertKeyContent() (certificatePEM, keyPEM []byte) {
	if s.keeper == nil {
		return nil, nil
	}
	current := s.keeper.Current()
	if current == nil {
		return nil, nil
	}
	return current.CertificatePEM, current.KeyPEM
}

// AddListener implements dynamiccertificates.Notifier.
func (s *servingCertificate) AddListener(listener dynamiccertificates.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, listener)
}

// loaded is called after each load. The library compares the new certificate with the one that it serves.
func (s *servingCertificate) loaded(loaded *rotation.Certificates, _ bool) {
	certificateExpiry.WithLabelValues("serving").Set(float64(loaded.Pair.Leaf.NotAfter.Unix()))
	certificateExpiry.WithLabelValues("authority").Set(float64(loaded.AuthorityEnd.Unix()))
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, listener := range s.listeners {
		listener.Enqueue()
	}
}

// check is not ready once the certificate has ended: other replicas may have a better one.
func (s *servingCertificate) check() healthz.HealthChecker {
	return healthz.NamedCheck(CertificateCheck, func(*http.Request) error { return s.keeper.Ready() })
}

// run keeps the certificate renewed until ctx is done.
func (s *servingCertificate) run(ctx context.Context) error {
	if s != nil {
		s.keeper.Run(ctx)
	}
	return nil
}
