// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

const (
	// consoleHost is the host of the example in docs/start/console.md.
	consoleHost = "docket.example.com"
	consoleBase = "https://" + consoleHost
)

// team is a cluster whose people sign in at an OpenID provider, and the browser with which they come to its console.
type team struct {
	*bootstrapped

	provider *harness.Provider
	ingress  *harness.Ingress
	browser  context.Context //nolint:containedctx // It is the handle of the browser.
}

// TestSignIn: people sign in at an OpenID provider, by way of oauth2-proxy with the options that
// docs/start/console.md has. kube-apiserver checks their tokens, and its RBAC says who sees what.
func TestSignIn(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	provider := harness.StartProvider(t, consoleBase+"/oauth2/callback")
	b := newBootstrappedIn(t, harness.StartCluster(t, provider.Accepted()))
	b.kubectl.RunInput(t, b.list(t, "ca.crt"), "create", "-f", "-")
	b.serveAsItself(t)
	for _, namespace := range []string{"team-a", "team-b"} {
		b.EnsureNamespace(t, namespace)
		b.kubectl.RunInput(t, reportWithResult("PolicyReport", "of-"+namespace), "create", "--namespace", namespace, "-f", "-")
	}
	b.kubectl.Run(t, "create", "rolebinding", "doctor", "--namespace", "team-a", "--clusterrole=view", "--user=dwho@badwolf.org")
	s := &team{b, provider, harness.NewIngress(t, consoleHost), nil}
	s.browser = startBrowser(t, consoleHost, s.ingress.Address)

	t.Run("token", s.testTokens)
	t.Run("headers", s.testHeaders)
}

// serve starts a console, with a proxy and the ingress in front.
func (s *team) serve(t *testing.T, kubeconfig string, flags ...string) {
	t.Helper()
	console := harness.StartConsole(t, kubeconfig, append(flags, "--host="+consoleHost)...)
	s.ingress.Send(harness.StartOAuth2Proxy(t, s.provider, console, proxyArguments(t)))
}

// testTokens gives the console no credentials at all.
func (s *team) testTokens(t *testing.T) {
	s.serve(t, s.KubeconfigOf(t, "nobody", ""), "--sign-in=token")
	forged := http.Header{"Authorization": {"Bearer " + strings.TrimSpace(s.kubectl.Run(t, "create", "token", "docket", "--namespace", bootstrapNamespace))}}
	s.wantsSignIn(t, forged)

	doctor, rose := browse(s.browser, t), browse(s.browser, t)
	doctor.signIn("dwho")
	doctor.sees("dwho@badwolf.org", "You may not read the results of all namespaces")
	doctor.open("#/results?namespace=team-b")
	doctor.sees("You may not read results in namespace team-b")
	doctor.seesNot("of-team-b")
	doctor.open("#/results?namespace=team-a")
	doctor.sees("of-team-a", "Live")
	doctor.isKnownAs("dwho@badwolf.org", forged)

	rose.signIn("rtyler")
	rose.sees("rtyler@badwolf.org", "You may not read the results of all namespaces")
	rose.open("#/results?namespace=team-a")
	rose.sees("You may not read results in namespace team-a")
	rose.seesNot("of-team-a")
	s.kubectl.Run(t, "create", "rolebinding", "earthlings", "--namespace", "team-b", "--clusterrole=view", "--group=earthlings")
	rose.open("#/results?namespace=team-b")
	rose.sees("of-team-b", "Live")

	// What the doctor may not see any more goes with the next change.
	s.kubectl.Run(t, "delete", "rolebinding", "doctor", "--namespace", "team-a")
	s.kubectl.RunInput(t, reportWithResult("PolicyReport", "later-of-team-a"), "create", "--namespace", "team-a", "-f", "-")
	doctor.sees("You may not read results in namespace team-a")
	doctor.seesNot("of-team-a")

	rose.run("fetch('/oauth2/sign_out', {redirect: 'manual'}).then(() => '')")
	rose.open("#/overview?namespace=team-b")
	rose.sees("You are not signed in", "Reload the page to sign in again.")
	rose.seesNot("of-team-b")
	rose.do(chromedp.Click(".problem button"))
	rose.startsSignIn()
	rose.sees("rtyler@badwolf.org") // The provider knows them.
}

// testHeaders gives the console the right to impersonate, and no other.
func (s *team) testHeaders(t *testing.T) {
	s.kubectl.Run(t, "create", "serviceaccount", "console", "--namespace", bootstrapNamespace)
	s.kubectl.Run(t, "create", "clusterrole", "console", "--verb=impersonate", "--resource=users,groups")
	s.kubectl.Run(t, "create", "clusterrolebinding", "console", "--clusterrole=console", "--serviceaccount="+bootstrapNamespace+":console")
	// By the name that this provider's tokens have as their subject.
	s.kubectl.Run(t, "create", "rolebinding", "subject", "--namespace", "team-a", "--clusterrole=view", "--user=dwho")
	token := strings.TrimSpace(s.kubectl.Run(t, "create", "token", "console", "--namespace", bootstrapNamespace))
	s.serve(t, s.KubeconfigOf(t, "console", token), "--sign-in=headers", "--group-headers=X-Forwarded-Groups")
	forged := http.Header{"X-Forwarded-User": {"rtyler"}, "X-Forwarded-Groups": {"earthlings"}, "Impersonate-User": {"admin"}, "Authorization": {"Bearer " + token}}
	s.wantsSignIn(t, forged)

	doctor, rose := browse(s.browser, t), browse(s.browser, t)
	doctor.signIn("dwho")
	doctor.open("#/results?namespace=team-a")
	doctor.sees("dwho", "of-team-a", "Live")
	doctor.isKnownAs("dwho", forged)
	doctor.open("#/results?namespace=team-b")
	doctor.sees("You may not read results in namespace team-b")
	rose.signIn("rtyler")
	rose.open("#/results?namespace=team-b")
	rose.sees("rtyler", "of-team-b", "Live")
}

// wantsSignIn: people without a session get to the provider, whatever headers they send.
func (s *team) wantsSignIn(t *testing.T, forged http.Header) {
	t.Helper()
	for _, header := range []http.Header{{}, forged} {
		for _, test := range []struct {
			path, accept string
			want         int
		}{
			{"/", "text/html", http.StatusForbidden},
			{"/api/v1/namespaces", "application/json", http.StatusUnauthorized},
			{"/oauth2/start?rd=%2F", "text/html", http.StatusFound},
		} {
			sent := header.Clone()
			sent.Set("Accept", test.accept)
			code, answer, text := s.ingress.Ask(t, consoleBase+test.path, sent)
			if code != test.want || code == http.StatusFound && !strings.HasPrefix(answer.Get("Location"), s.provider.Issuer+"/oauth2/authorize?") ||
				code == http.StatusForbidden && !strings.Contains(text, "/oauth2/start") {
				t.Errorf("%s without a session, with %d headers: %d %v %.300s; want %d, and the way to the provider", test.path, len(header), code, answer, text, test.want)
			}
		}
	}
}

// proxyArguments are those that docs/start/console.md gives oauth2-proxy.
func proxyArguments(t *testing.T) []string {
	t.Helper()
	var values struct {
		Console struct {
			Sidecars []struct {
				Name string
				Args []string
			}
		}
	}
	testkit.NoError(t, yaml.Unmarshal([]byte(readBlock(t, consolePage, "For a team").Text), &values))
	for _, sidecar := range values.Console.Sidecars {
		if sidecar.Name == "oauth2-proxy" {
			return sidecar.Args
		}
	}
	t.Fatal("the page has no oauth2-proxy")
	return nil
}
