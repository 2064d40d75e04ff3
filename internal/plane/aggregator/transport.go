// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/transport"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

const (
	dialTimeout = 5 * time.Second
	keepAlive   = 30 * time.Second
)

// backendTransport are the ways to one extension server. Connections are shared by all with
// the same authority, server name and client certificate.
type backendTransport struct {
	// requests speaks HTTP/2 where the server does, and checks idle connections.
	requests http.RoundTripper
	// upgrades speaks HTTP/1.1, the only one in which a connection can be handed over.
	upgrades http.RoundTripper
}

// transports makes transports with the proxy's certificate as it is now.
type transports struct {
	certificate func() (certificatePEM, keyPEM []byte)
	dial        *transport.DialHolder
}

func newTransports(certificate func() ([]byte, []byte)) *transports {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}
	return &transports{certificate: certificate, dial: &transport.DialHolder{Dial: dialer.DialContext}}
}

func (t *transports) forService(service *apiregistration.APIService) (*backendTransport, error) {
	certificate, key := t.certificate()
	config := transport.Config{
		TLS: transport.TLSConfig{
			Insecure:   service.Spec.InsecureSkipTLSVerify,
			CAData:     service.Spec.CABundle,
			ServerName: serverNameOf(service),
			CertData:   certificate,
			KeyData:    key,
		},
		DialHolder: t.dial,
		// What the client accepts is passed on; and nothing is unpacked here that could be
		// much larger than it looks.
		DisableCompression: true,
	}
	requests, err := transport.New(&config)
	if err != nil {
		return nil, err
	}
	config.TLS.NextProtos = []string{"http/1.1"}
	upgrades, err := transport.New(&config)
	if err != nil {
		return nil, err
	}
	return &backendTransport{requests: requests, upgrades: upgrades}, nil
}
