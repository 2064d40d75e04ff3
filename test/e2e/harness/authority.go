// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// authority signs certificates for one purpose of a control plane. A real cluster
// has several, too: the one for clients must not be the one for the front proxy.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
	file        string
}

// certificateFiles are the paths of a certificate and its key.
type certificateFiles struct{ certificate, key string }

func newAuthority(dir, name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	certificate, err := cert.NewSelfSignedCACert(cert.Config{CommonName: name}, key)
	if err != nil {
		return nil, err
	}
	pem, err := cert.EncodeCertificates(certificate)
	if err != nil {
		return nil, err
	}
	a := &authority{certificate: certificate, key: key, pem: pem, file: filepath.Join(dir, name+"-ca.crt")}
	return a, os.WriteFile(a.file, pem, 0o600)
}

// issue writes a certificate for name, a member of groups if it is a client's,
// valid for the hosts if it is a server's.
func (a *authority) issue(dir, name string, groups, hosts []string) (certificateFiles, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificateFiles{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return certificateFiles{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name, Organization: groups},
		NotBefore:    a.certificate.NotBefore,
		NotAfter:     time.Now().Add(24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return certificateFiles{}, fmt.Errorf("sign the certificate of %s: %w", name, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return certificateFiles{}, err
	}
	certificatePEM, err := cert.EncodeCertificates(certificate)
	if err != nil {
		return certificateFiles{}, err
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return certificateFiles{}, err
	}
	files := certificateFiles{filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")}
	// The key last: a server that watches both sees a pair that matches.
	if err := replace(files.certificate, certificatePEM); err != nil {
		return certificateFiles{}, err
	}
	return files, replace(files.key, keyPEM)
}

// replace writes a file as Kubernetes updates a mounted secret: at once.
func replace(path string, data []byte) error {
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
