// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package certificate_test

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/testkit"
)

const day = 24 * time.Hour

func start() time.Time { return time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC) }

func authority(t *testing.T, name string, lifetime time.Duration) *certificate.Pair {
	t.Helper()
	return testkit.Must(certificate.NewAuthority(name, start(), lifetime))(t)
}

func serving(t *testing.T, ca *certificate.Pair, hosts ...string) *certificate.Pair {
	t.Helper()
	return testkit.Must(certificate.NewServing(ca, hosts, start(), day))(t)
}

func TestServing(t *testing.T) {
	t.Parallel()
	ca, other := authority(t, "one", day), authority(t, "other", day)
	pair := serving(t, ca, "docket.docket-system.svc", "127.0.0.1")
	for name, test := range map[string]struct {
		trusted *certificate.Pair
		host    string
		at      time.Time
		good    bool
	}{
		"name":            {ca, "docket.docket-system.svc", start(), true},
		"address":         {ca, "127.0.0.1", start(), true},
		"clock behind":    {ca, "127.0.0.1", start().Add(-time.Minute), true},
		"other name":      {ca, "docket", start(), false},
		"other authority": {other, "127.0.0.1", start(), false},
		"after the end":   {ca, "127.0.0.1", start().Add(2 * day), false},
	} {
		roots := x509.NewCertPool()
		roots.AddCert(test.trusted.Certificate)
		_, err := pair.Certificate.Verify(x509.VerifyOptions{Roots: roots, DNSName: test.host, CurrentTime: test.at})
		if (err == nil) != test.good {
			t.Errorf("%s: got %v, want it to be good: %t", name, err, test.good)
		}
	}
	if !pair.Covers([]string{"127.0.0.1", "docket.docket-system.svc"}) || pair.Covers([]string{"127.0.0.1", "docket"}) {
		t.Error("Covers differs from the hosts of the certificate")
	}
	if !pair.GoodFor(start(), 0) || !pair.GoodFor(start(), day-time.Second) || pair.GoodFor(start(), day) {
		t.Error("GoodFor differs from the lifetime of the certificate")
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	ca := authority(t, "one", day)
	first, second := serving(t, ca, "a"), serving(t, ca, "a")
	same, err := certificate.Parse(first.CertificatePEM, first.KeyPEM)
	if err != nil || !same.Matches() || !same.Certificate.Equal(first.Certificate) {
		t.Errorf("a pair that was made here: %v", err)
	}
	mixed, err := certificate.Parse(first.CertificatePEM, second.KeyPEM)
	if err != nil || mixed.Matches() {
		t.Errorf("halves of two pairs: error %v, want a pair that does not match", err)
	}
	if _, err := certificate.Parse([]byte("x"), first.KeyPEM); err == nil {
		t.Error("garbage for a certificate is no error")
	}
	if _, err := certificate.Parse(first.CertificatePEM, []byte("x")); err == nil {
		t.Error("garbage for a key is no error")
	}
}

func TestParseBundle(t *testing.T) {
	t.Parallel()
	one, two := authority(t, "one", day), authority(t, "two", day)
	leaf := serving(t, one, "a")
	block := func(kind, content string) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: []byte(content)}))
	}
	for name, test := range map[string]struct {
		data string
		want int    // authorities
		err  string // part of the error
	}{
		"one":               {data: string(one.CertificatePEM), want: 1},
		"two with comments": {data: "# old\n" + string(one.CertificatePEM) + "# new\n" + string(two.CertificatePEM), want: 2},
		"empty":             {err: "holds no certificate"},
		"not PEM":           {data: "hello", err: "holds no certificate"},
		"key":               {data: string(one.KeyPEM), err: "private key"},
		"key behind":        {data: string(one.CertificatePEM) + string(one.KeyPEM), err: "private key"},
		"PKCS 8 key":        {data: block("PRIVATE KEY", "x"), err: "private key"},
		"other block":       {data: block("CERTIFICATE REQUEST", "x"), err: `"CERTIFICATE REQUEST"`},
		"damaged":           {data: string(one.CertificatePEM) + block("CERTIFICATE", "x"), err: "certificate 2"},
		"no authority":      {data: string(leaf.CertificatePEM), err: "ca.crt"},
	} {
		bundle, err := certificate.ParseBundle([]byte(test.data))
		if len(bundle) != test.want || (test.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %d authorities and error %v, want %d and %q", name, len(bundle), err, test.want, test.err)
		}
	}
}

// TestBundleInTime: authorities leave a bundle at their end, and a bundle without any
// says since when.
func TestBundleInTime(t *testing.T) {
	t.Parallel()
	short, long := authority(t, "short", day), authority(t, "long", 3*day)
	bundle := certificate.Bundle{}.With(short.Certificate).With(long.Certificate)
	for after, want := range map[time.Duration]int{0: 2, day - time.Second: 2, day: 1, 3*day - time.Second: 1} {
		left, err := bundle.At(start().Add(after))
		if err != nil || len(left) != want {
			t.Errorf("after %s: %d authorities and error %v, want %d", after, len(left), err, want)
		}
	}
	if len(bundle) != 2 {
		t.Error("At changed the bundle itself")
	}
	_, err := bundle.At(start().Add(3 * day))
	if !errors.Is(err, certificate.ErrExpired) || !strings.Contains(err.Error(), "2026-11-04") || !strings.Contains(err.Error(), "long") {
		t.Errorf("after the end of all: %v, want ErrExpired with the last one's name and day", err)
	}
	data := testkit.Must(bundle.PEM())(t)
	if again, err := certificate.ParseBundle(data); err != nil || len(again) != 2 || !again[1].Equal(long.Certificate) {
		t.Errorf("the bundle read again: %d authorities, %v", len(again), err)
	}
}
