// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/docket-project/docket/internal/kit/certificate"
)

const (
	// FilesInterval is how often [Files] are read.
	FilesInterval = 10 * time.Second
	// maxFile bounds the bytes of a file.
	maxFile = 1 << 20
)

// Files is the source of certificates that somebody else puts into a directory: tls.crt, tls.key and,
// if clients are to be told whom to trust, ca.crt. They are polled: three small files cost nothing,
// and how a kubelet replaces a mounted Secret is its own affair.
type Files struct {
	Dir string
	// Flag is the name of the setting that errors begin with.
	Flag string
}

// Interval implements [Source].
func (Files) Interval() time.Duration { return FilesInterval }

// Load implements [Source]. While the files are being replaced it may find halves of two pairs, which
// is an error; what was loaded before stays.
func (f Files) Load(context.Context) (*Certificates, error) {
	certificatePEM, err := f.read(corev1.TLSCertKey)
	if err != nil {
		return nil, err
	}
	keyPEM, err := f.read(corev1.TLSPrivateKeyKey)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificatePEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("%s: %s and %s in %s: %w", f.Flag, corev1.TLSCertKey, corev1.TLSPrivateKeyKey, f.Dir, err)
	}
	found := &Certificates{Pair: &pair, CertificatePEM: certificatePEM, KeyPEM: keyPEM}
	authorities, err := f.read(AuthorityKey)
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	if err != nil {
		return nil, err
	}
	bundle, err := certificate.ParseBundle(authorities)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", f.Flag, filepath.Join(f.Dir, AuthorityKey), err)
	}
	// Without what may be around the certificates.
	if found.Bundle, err = bundle.PEM(); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", f.Flag, filepath.Join(f.Dir, AuthorityKey), err)
	}
	found.AuthorityEnd = bundle[len(bundle)-1].NotAfter
	return found, nil
}

func (f Files) read(name string) ([]byte, error) {
	file, err := os.Open(filepath.Join(f.Dir, name))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Flag, err)
	}
	defer file.Close() //nolint:errcheck // It was only read.
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Flag, err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: %s is larger than %d bytes", f.Flag, file.Name(), maxFile)
	}
	return data, nil
}
