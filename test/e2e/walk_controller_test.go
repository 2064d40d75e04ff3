// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestWalkController installs the controller where reports are custom resources in etcd, lets it scan, answer
// admission requests and keep an entry of the context cache, as the pages in docs/controller say.
func TestWalkController(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	c, w := newInstallation(t)
	c.InstallPublishedCRDs(t)
	w.put("my-controller/kustomization.yaml", withoutDocket(w.shell.Text(readBlock(t, controllerPage, "In a cluster #3").Text))+
		readBlock(t, admissionPage, "Switch it on #2").Text)
	w.follow(controllerPage, "In a cluster #5")
	w.shell.Run(t, "kubectl wait --for=condition=Established crd --all --timeout=50s")
	w.follow(controllerPage, "In a cluster #4")
	w.shell.Run(t, "kubectl -n docket-system rollout status deployment docket-controller --timeout=4m")
	w.shell.Run(t, "kubectl apply -f examples/policies -f examples/app")
	w.want("kubectl get polr -n shop", "polr-ns-shop-")
	wantOutput(t, w.follow(reportsPage, "Names and labels"), "polr-ns-shop-pinned-images")
	wantOutput(t, w.follow(operatePage, "When something is wrong"), "docket-controller-")

	w.put("entry.yaml", readBlock(t, contextPage, "Declare what is cached").Text)
	w.put("policy.yaml", readBlock(t, contextPage, "Use it").Text)
	w.shell.Run(t, "kubectl create namespace apps && kubectl apply -f entry.yaml -f policy.yaml")
	w.want("kubectl get cce ingress", "Loaded")
	w.follow(contextPage, "How fresh it is")
	w.shell.Run(t, "mkdir policies manifests && mv entry.yaml policy.yaml policies && cp examples/app/shop.yaml manifests")
	w.follow(contextPage, "In files")

	const ingress = `kubectl -n apps create ingress %NAME --rule=shop.example/=web:80`
	w.want(`kubectl get validatingwebhookconfiguration docket-controller -o yaml`, "ingresses")
	w.shell.Run(t, strings.ReplaceAll(ingress, "%NAME", "first"))
	w.want(strings.ReplaceAll(ingress, "%NAME", "second")+" --dry-run=server", "another Ingress has this host")
	if output, code := w.shell.Try(t, strings.ReplaceAll(ingress, "%NAME", "second")); code == 0 {
		t.Errorf("the second Ingress was created: %s", output)
	}
	w.want("kubectl get events -A --field-selector reason=PolicyViolation,type=Warning", "Ingress apps/second")
	w.follow(admissionPage, "What is reported")
	w.follow(admissionPage, "Events")
	wantOutput(t, w.follow(admissionPage, "The webhook configuration"), "fail.validate.docket.dev")
	w.follow(admissionPage, "Switch it off")
	wantOutput(t, w.follow(replacePage, "Beside Kyverno #2"), "polr-ns-shop-pinned-images")
	wantOutput(t, w.follow(controllerPage, "Several installations"), `"polr-ns-shop-pinned-images" deleted`)
}

// withoutDocket takes the server out of a kustomization that has it and the controller.
func withoutDocket(kustomization string) string {
	var kept strings.Builder
	skip := 0
	for line := range strings.Lines(kustomization) {
		switch {
		case strings.Contains(line, "overlays/"):
			skip = 1
		case strings.TrimSpace(line) == "- name: docket":
			skip = 3
		}
		if skip > 0 {
			skip--
			continue
		}
		kept.WriteString(line)
	}
	return kept.String()
}

// put writes a file.
func (w *walker) put(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}
