// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

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

	"github.com/docket-project/docket/internal/certificate"
)

const (
	filesInterval = 10 * time.Second
	maxFile       = 1 << 20
)

// files is the source of certificates that somebody else puts into a directory. They are polled:
// three small files cost nothing, and how a kubelet replaces a mounted Secret is its own affair.
type files struct{ dir string }

func (files) interval() time.Duration { return filesInterval }

// load reads the files. While they are being replaced it may find halves of two pairs, which is an
// error; what was loaded before stays.
func (f files) load(context.Context) (*loaded, error) {
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
		return nil, fmt.Errorf("--webhook-cert-dir: %s and %s in %s: %w", corev1.TLSCertKey, corev1.TLSPrivateKeyKey, f.dir, err)
	}
	authorities, err := f.read(authorityKey)
	if errors.Is(err, fs.ErrNotExist) {
		return &loaded{pair: &pair}, nil
	}
	if err != nil {
		return nil, err
	}
	bundle, err := certificate.ParseBundle(authorities)
	if err != nil {
		return nil, fmt.Errorf("--webhook-cert-dir: %s: %w", filepath.Join(f.dir, authorityKey), err)
	}
	// Without what may be around the certificates.
	text, err := bundle.PEM()
	if err != nil {
		return nil, fmt.Errorf("--webhook-cert-dir: %s: %w", filepath.Join(f.dir, authorityKey), err)
	}
	return &loaded{pair: &pair, bundle: text, authorityEnd: bundle[len(bundle)-1].NotAfter}, nil
}

func (f files) read(name string) ([]byte, error) {
	file, err := os.Open(filepath.Join(f.dir, name))
	if err != nil {
		return nil, fmt.Errorf("--webhook-cert-dir: %w", err)
	}
	defer file.Close() //nolint:errcheck // It was only read.
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("--webhook-cert-dir: %w", err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("--webhook-cert-dir: %s is larger than %d bytes", file.Name(), maxFile)
	}
	return data, nil
}
