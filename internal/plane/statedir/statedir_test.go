// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package statedir

import (
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/docket-project/docket/internal/kit/atomicfile"
	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/testkit"
)

func openTestHome(t *testing.T, dir string) *Folder {
	t.Helper()
	s := testkit.Must(Open(dir))(t)
	t.Cleanup(func() { _ = s.Close() }) // Some tests close it earlier.
	return s
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info := testkit.Must(os.Stat(path))(t)
	return info.Mode().Perm()
}

func TestStateFolder(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prepare func(t *testing.T, dir string)
		wantErr string
	}{
		"made, with its parents": {prepare: func(*testing.T, string) {}},
		"empty and open is closed": {prepare: func(t *testing.T, dir string) {
			t.Helper()
			testkit.NoError(t, os.MkdirAll(dir, 0o755))
		}},
		"with contents and open is refused": {
			prepare: func(t *testing.T, dir string) {
				t.Helper()
				testkit.NoError(t, errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "x"), nil, 0o600)))
			},
			wantErr: "give another folder",
		},
		"of ours and open is refused": {
			prepare: func(t *testing.T, dir string) {
				t.Helper()
				if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, DatabaseFile), nil, 0o600)); err != nil {
					t.Fatal(err)
				}
			},
			wantErr: "chmod 700",
		},
		"of somebody else is refused": {
			prepare: func(t *testing.T, dir string) {
				t.Helper()
				if os.Geteuid() != 0 {
					t.Skip("needs root, who can give a folder away")
				}
				testkit.NoError(t, errors.Join(os.MkdirAll(dir, 0o700), os.Chown(dir, 65532, 65532)))
			},
			wantErr: "belongs to user 65532",
		},
		"a file is refused": {
			prepare: func(t *testing.T, dir string) {
				t.Helper()
				testkit.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(dir), 0o700), os.WriteFile(dir, nil, 0o600)))
			},
			wantErr: "--dir",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "parent", "state")
			test.prepare(t, dir)
			s, err := Open(dir)
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) {
					t.Fatalf("got error %v, want %q", err, test.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := mode(t, dir); got != folderMode {
				t.Errorf("the folder has mode %o", got)
			}
			if _, err := Open(dir); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "process") {
				t.Errorf("a second use: got %v, want that it is in use, and by whom", err)
			}
			testkit.NoError(t, s.Close())
			openTestHome(t, dir)
		})
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	s := openTestHome(t, filepath.Join(t.TempDir(), "state"))
	first, err := s.Token()
	if err != nil || len(first) < minTokenLength {
		t.Fatalf("new token %q: %v", first, err)
	}
	if got := mode(t, s.Path(tokenFile)); got != fileMode {
		t.Errorf("the token file has mode %o", got)
	}
	testkit.NoError(t, os.Chmod(s.Path(tokenFile), 0o644))
	if again, err := s.Token(); err != nil || again != first {
		t.Errorf("the second start has token %q and error %v, want the first token", again, err)
	}
	if got := mode(t, s.Path(tokenFile)); got != fileMode {
		t.Errorf("an open token file was left at mode %o", got)
	}
	for _, damaged := range []string{"", "short", strings.Repeat("a b", 20)} {
		testkit.NoError(t, atomicfile.Write(s.Path(tokenFile), []byte(damaged)))
		if _, err := s.Token(); err == nil || !strings.Contains(err.Error(), "remove the file") {
			t.Errorf("token file %q: got %v, want an error with a remedy", damaged, err)
		}
	}
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	s := openTestHome(t, filepath.Join(t.TempDir(), "state"))
	certificates := func(hosts []string, now time.Time) (ca, serving *certificate.Pair) {
		t.Helper()
		ca, serving = testkit.Must2(s.Certificates(hosts, now))(t)
		roots := x509.NewCertPool()
		roots.AddCert(ca.Certificate)
		for _, host := range hosts {
			if _, err := serving.Certificate.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: now}); err != nil {
				t.Errorf("the serving certificate is not good for %s: %v", host, err)
			}
		}
		return ca, serving
	}
	ca, serving := certificates(hosts, now)
	if serving.Certificate.Subject.String() == serving.Certificate.Issuer.String() {
		t.Error("the serving certificate looks as if it had signed itself: OpenSSL, and with it Python and Node.js, refuses it")
	}
	for _, name := range []string{caKeyFile, servingKeyFile, caCertificateFile, servingCertificateFile} {
		if got := mode(t, s.Path(name)); got != fileMode {
			t.Errorf("%s has mode %o", name, got)
		}
	}
	sameCA, sameServing := certificates(hosts, now.Add(24*time.Hour))
	if !sameCA.Certificate.Equal(ca.Certificate) || !sameServing.Certificate.Equal(serving.Certificate) {
		t.Error("good certificates were made anew")
	}
	otherCA, other := certificates(append(hosts, "10.1.2.3", "box.example"), now)
	if !otherCA.Certificate.Equal(ca.Certificate) || other.Certificate.Equal(serving.Certificate) {
		t.Error("another address must change the serving certificate, and it only")
	}
	laterCA, later := certificates(hosts, now.Add(servingLifetime-renewBefore+time.Hour))
	if !laterCA.Certificate.Equal(ca.Certificate) || later.Certificate.Equal(other.Certificate) {
		t.Error("the end of the serving certificate must change it, and it only")
	}
	newCA, _ := certificates(hosts, now.Add(caLifetime))
	if newCA.Certificate.Equal(ca.Certificate) {
		t.Error("an authority at its end was kept")
	}
	testkit.NoError(t, os.Remove(s.Path(servingKeyFile)))
	certificates(hosts, now.Add(caLifetime))
	testkit.NoError(t, atomicfile.Write(s.Path(caKeyFile), []byte("garbage")))
	if _, _, err := s.Certificates(hosts, now); err == nil || !strings.Contains(err.Error(), "remove both") {
		t.Errorf("a damaged key: got %v, want an error with a remedy", err)
	}
}

func TestKubeconfig(t *testing.T) {
	t.Parallel()
	s := openTestHome(t, filepath.Join(t.TempDir(), "state"))
	ca := testkit.Must(certificate.NewAuthority("test", time.Now(), caLifetime))(t)
	for _, url := range []string{"https://127.0.0.1:1", "https://127.0.0.1:2"} {
		testkit.NoError(t, s.WriteKubeconfig(url, ca, "the-token"))
		config := testkit.Must(clientcmd.LoadFromFile(s.Path(KubeconfigFile)))(t)
		if config.CurrentContext != contextName || config.Clusters[contextName].Server != url || config.AuthInfos[contextName].Token != "the-token" {
			t.Errorf("kubeconfig: %+v", config)
		}
		if got := mode(t, s.Path(KubeconfigFile)); got != fileMode {
			t.Errorf("the kubeconfig has mode %o", got)
		}
	}
	entries := testkit.Must(os.ReadDir(s.Dir))(t)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			t.Errorf("the temporary file %s was left", entry.Name())
		}
	}
}

// TestProxyCertificate: kept, readable by its owner only, and signed by an authority of
// its own.
func TestProxyCertificate(t *testing.T) {
	t.Parallel()
	s, now := openTestHome(t, filepath.Join(t.TempDir(), "state")), time.Now()
	first, err := s.ProxyCertificate("aggregator", now)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(first.CertFile)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Must(s.ProxyCertificate("aggregator", now))(t)
	again, err := os.ReadFile(first.CertFile)
	if err != nil || string(again) != string(kept) {
		t.Errorf("the certificate was made anew: %v", err)
	}
	client, err := certificate.Parse(kept, first.CA.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(first.CA.Certificate)
	_, err = client.Certificate.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil || client.Certificate.Subject.CommonName != "aggregator" {
		t.Errorf("the certificate of %s: %v", client.Certificate.Subject.CommonName, err)
	}
	if got := mode(t, first.KeyFile); got != fileMode {
		t.Errorf("the key has mode %o", got)
	}
	testkit.NoError(t, os.Remove(first.CertFile))
	if other, err := s.ProxyCertificate("another", now); err != nil || other.CommonName != "another" {
		t.Errorf("another name: %v", err)
	}
}

func TestDefaultDir(t *testing.T) {
	t.Setenv("HOME", "/home/somebody")
	for data, want := range map[string]string{"": "/home/somebody/.docket", "/data": "/data/docket", "relative": "/home/somebody/.docket"} {
		t.Setenv("XDG_DATA_HOME", data)
		if got, err := DefaultDir("docket"); err != nil || got != want {
			t.Errorf("XDG_DATA_HOME=%q gives %q and error %v, want %q", data, got, err, want)
		}
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		address string
		allow   bool
		wantURL string
		wantErr string
	}{
		"loopback":                  {address: "127.0.0.1:0", wantURL: "https://127.0.0.1:"},
		"a loopback name":           {address: "localhost:0", wantURL: "https://localhost:"},
		"all addresses":             {address: "0.0.0.0:0", wantErr: "--allow-non-loopback"},
		"no host":                   {address: ":0", wantErr: "--allow-non-loopback"},
		"all addresses, confirmed":  {address: "0.0.0.0:0", allow: true, wantURL: "https://127.0.0.1:"},
		"no port":                   {address: "127.0.0.1", wantErr: "127.0.0.1:7443"},
		"a port that is no number":  {address: "127.0.0.1:https", wantErr: "0 to 65535"},
		"a port beyond the largest": {address: "127.0.0.1:65536", wantErr: "0 to 65535"},
		"somebody else's address":   {address: "192.0.2.1:0", allow: true, wantErr: "--listen"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Listen(t.Context(), test.address, test.allow)
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) {
					t.Fatalf("got error %v, want %q", err, test.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = got.Listener.Close() })
			if !strings.HasPrefix(got.URL, test.wantURL) {
				t.Errorf("URL %s, want %s…", got.URL, test.wantURL)
			}
			taken := got.Listener.Addr().String()
			if _, err := Listen(t.Context(), taken, true); err == nil || !strings.Contains(err.Error(), "another process listens") {
				t.Errorf("an address in use: got %v", err)
			}
		})
	}
}
