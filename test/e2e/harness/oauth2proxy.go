// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// StartOAuth2Proxy starts oauth2-proxy as a sidecar of the console with these arguments,
// except for the addresses in them. It returns where it listens, and ends with the test.
func StartOAuth2Proxy(t testing.TB, provider *Provider, console *Console, arguments []string) string {
	t.Helper()
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(testenv.FreePort(t)))
	own := map[string]string{"--http-address": address, "--upstream": "http://" + console.address, "--oidc-issuer-url": provider.Issuer, "--trusted-proxy-ip": "127.0.0.1"}
	p := &process{path: testenv.Program(t, "oauth2-proxy"), env: []string{
		"OAUTH2_PROXY_CLIENT_ID=" + provider.ClientID, "OAUTH2_PROXY_CLIENT_SECRET=" + provider.ClientSecret,
		"OAUTH2_PROXY_COOKIE_SECRET=" + randomToken()[:16], "OAUTH2_PROXY_PROVIDER_CA_FILES=" + provider.authority.file,
	}}
	for _, argument := range arguments {
		name, _, _ := strings.Cut(argument, "=")
		if value, ok := own[name]; ok {
			argument = name + "=" + value
			delete(own, name)
		}
		p.arguments = append(p.arguments, argument)
	}
	if len(own) > 0 {
		t.Fatalf("oauth2-proxy is not given %v", own)
	}
	testkit.NoError(t, p.start(t.Context(), func(ctx context.Context, _ *output) bool { return answers(ctx, "http://"+address+"/ping") }))
	t.Cleanup(func() {
		if err := p.end(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		p.log(t)
	})
	return address
}
