// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/internal/kit/testenv/tlsclients"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestOtherClients: OpenSSL, GnuTLS and Java accept the certificate that the server gets, by its name and by its
// address.
func TestOtherClients(t *testing.T) {
	t.Parallel()
	dir := startUp(t)
	s := run(t, dir)
	s.wait(t, "serving things.example.com/v1")
	_, services, _ := clients(t, dir)
	registered := testkit.Must(services.ApiregistrationV1().APIServices().Get(t.Context(), apiServiceName, metav1.GetOptions{}))(t)
	caFile := filepath.Join(t.TempDir(), "ca.crt")
	testkit.NoError(t, os.WriteFile(caFile, registered.Spec.CABundle, 0o600))
	address := registered.Annotations[endpointAnnotation]
	named := strings.Replace(address, "127.0.0.1", "fake.docket-run.svc", 1)
	for _, url := range []string{address, named} {
		tlsclients.Check(t, tlsclients.Server{URL: url + "/healthz", CAFile: caFile}, "ok")
	}
}
