// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corelisters "k8s.io/client-go/listers/core/v1"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/yaml"
)

const (
	// EndpointAnnotation of an APIService names the server directly: https://host:port.
	// It goes before everything else that could tell where the service is.
	EndpointAnnotation = "docket.dev/endpoint"
	// ServerNameAnnotation of an APIService is the name that the certificate of the server
	// must have, in place of <service>.<namespace>.svc.
	ServerNameAnnotation = "docket.dev/server-name"

	maxTableBytes = 1 << 20
)

// Resolver tells where a service is. Its result must not be changed.
type Resolver interface {
	ResolveEndpoint(namespace, name string, port int32) (*url.URL, error)
}

// ResolverConfig is what NewResolver looks at, in this order.
type ResolverConfig struct {
	// Table maps namespace/name to https://host:port; see ReadTable. It may be nil.
	Table map[string]string
	// Services, if not nil, must have the services that are registered.
	Services corelisters.ServiceLister
}

// NewResolver returns a resolver that asks the table, then the Service object. Without a lister of
// Services, it takes the name that services have in the DNS of clusters. The annotation
// docket.dev/endpoint of an APIService goes before any resolver.
func NewResolver(config ResolverConfig) Resolver { return &resolver{config} }

// unresolved is an error with the reason that the condition Available gets.
type unresolved struct{ reason, message string }

func (e *unresolved) Error() string { return e.message }

type resolver struct{ ResolverConfig }

// ResolveEndpoint implements Resolver.
func (r *resolver) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	if address, ok := r.Table[namespace+"/"+name]; ok {
		return parseEndpoint(address)
	}
	if r.Services == nil {
		return httpsURL(name+"."+namespace+".svc", port), nil
	}
	service, err := r.Services.Services(namespace).Get(name)
	switch {
	case apierrors.IsNotFound(err):
		return nil, &unresolved{"ServiceNotFound", fmt.Sprintf("service/%s in %q is not present; create it, or set the annotation %s of the APIService to https://host:port",
			name, namespace, EndpointAnnotation)}
	case err != nil:
		return nil, &unresolved{"ServiceAccessError", fmt.Sprintf("service/%s in %q can't be read: %v", name, namespace, err)}
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		return httpsURL(service.Spec.ExternalName, port), nil
	case service.Spec.ClusterIP == "" || service.Spec.ClusterIP == corev1.ClusterIPNone:
		return nil, &unresolved{"MissingEndpoints", fmt.Sprintf("service/%s in %q has no cluster IP; make it of type ExternalName, or set the annotation %s of the APIService to https://host:port",
			name, namespace, EndpointAnnotation)}
	}
	return httpsURL(service.Spec.ClusterIP, port), nil
}

func httpsURL(host string, port int32) *url.URL {
	return &url.URL{Scheme: "https", Host: net.JoinHostPort(host, strconv.Itoa(int(port)))}
}

// ReadTable reads a table of services from a YAML or JSON file: an object of
// namespace/name to https://host:port.
func ReadTable(path string) (map[string]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // Only read from.
	data, err := io.ReadAll(io.LimitReader(file, maxTableBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxTableBytes {
		return nil, fmt.Errorf("%s: more than %d bytes; a table of services is small", path, maxTableBytes)
	}
	table := map[string]string{}
	if err := yaml.UnmarshalStrict(data, &table); err != nil {
		return nil, fmt.Errorf("%s: %w; give lines of the form namespace/name: https://host:port", path, err)
	}
	for service, address := range table {
		if _, err := parseEndpoint(address); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, service, err)
		}
	}
	return table, nil
}

// endpointOf returns the endpoint of the annotation, or nil without one.
func endpointOf(service *apiregistration.APIService) (*url.URL, error) {
	address, ok := service.Annotations[EndpointAnnotation]
	if !ok {
		return nil, nil // No annotation is neither an endpoint nor an error.
	}
	endpoint, err := parseEndpoint(address)
	if err != nil {
		return nil, &unresolved{"InvalidEndpoint", fmt.Sprintf("metadata.annotations[%s]: %v", EndpointAnnotation, err)}
	}
	return endpoint, nil
}

// parseEndpoint accepts only https://host:port: anything else would be ignored.
func parseEndpoint(address string) (*url.URL, error) {
	const form = "give https://host:port"
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("not a URL; " + form)
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	switch {
	case u.Scheme != "https":
		return nil, errors.New("the scheme is not https; " + form)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.Path != "" && u.Path != "/":
		return nil, errors.New("has a user, a path, a query or a fragment; " + form)
	case u.Hostname() == "" || err != nil || port == 0:
		return nil, errors.New("has no host or no port; " + form)
	}
	return &url.URL{Scheme: "https", Host: u.Host}, nil
}
