// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

// report is what the walks keep an eye on.
const walkedReport = `kubectl create -f - <<'END'
{"apiVersion": "wgpolicyk8s.io/v1alpha2", "kind": "PolicyReport", "metadata": {"name": "NAME", "namespace": "default"},
 "results": [{"policy": "p", "result": "fail", "message": "m"}], "summary": {"fail": 1}}
END`

// newInstallation is a cluster that runs the pods of Docket, and a shell at it.
func newInstallation(t *testing.T) (*harness.Cluster, *walker) {
	t.Helper()
	c := harness.StartCluster(t, harness.Pods(t))
	c.StartMachine(t)
	testenv.Program(t, "helm") // It is in the PATH of walks.
	w := newWalker(t, c.Kubeconfig())
	w.shell.Replace("REGISTRY", "registry.example", "TAG", "v1")
	return c, w
}

// create makes a report.
func (w *walker) create(name string) {
	w.t.Helper()
	w.shell.Run(w.t, strings.Replace(walkedReport, "NAME", name, 1))
}

// wantReports wants the reports in the namespace default, and no others.
func (w *walker) wantReports(names ...string) {
	w.t.Helper()
	want := ""
	for _, name := range names {
		want += "policyreport.wgpolicyk8s.io/" + name + "\n"
	}
	w.want("echo begin; kubectl get policyreports -n default -o name; echo end", "begin\n"+want+"end")
}

// look follows the step that looks at the installation, whose tables must have the columns that the page shows, and
// wants the words in what it prints.
func (w *walker) look(words ...string) {
	w.t.Helper()
	block := w.block(installPage, "3. Look")
	var all strings.Builder
	for i, command := range block.Commands() {
		output := w.shell.Run(w.t, command)
		if shown := firstLine(block.Outputs()[i]); shown != "No resources found" {
			wantSameWords(w.t, firstLine(output), shown)
		}
		all.WriteString(output)
	}
	wantOutput(w.t, all.String(), words...)
}

// TestWalkSQLite installs with kustomize and SQLite, replaces the certificate, backs up, restores, upgrades, rolls
// back, and removes everything, as install.md and backup.md say.
func TestWalkSQLite(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	c, w := newInstallation(t)
	kubectl := c.Kubectl(t, "default")
	before := everything(t, kubectl)
	w.overlay()
	w.follow(installPage, "2. Apply")
	c.WaitAvailable(t)
	w.create("a")
	w.look("v1alpha2.wgpolicyk8s.io", "policyreports", "default", "docket-0")
	w.follow(installPage, "Everything but the APIServices #2")
	w.follow(operationsPage, "Certificates")
	c.WaitAvailable(t)
	w.wantReports("a")

	watch := kubectl.Watch(t, "policyreports")
	w.follow(backupPage, "SQLite in a cluster")
	w.create("lost")
	if got := harness.Next(t, watch) + ", " + harness.Next(t, watch); got != "ADDED a, ADDED lost" {
		t.Errorf("the watch shows %s", got)
	}
	w.follow(backupPage, "SQLite in a cluster #2")
	w.wantReports("a")
	w.create("after")

	w.follow(backupPage, "Upgrade")
	w.follow(installPage, "Upgrading")
	w.wantReports("a", "after")
	w.follow(backupPage, "Roll back")
	w.wantReports("a", "after")
	w.follow(installPage, "Removing")
	checkGone(t, kubectl, before)
}

// TestWalkCertificate installs with a certificate that an administrator has made, and goes over to the server's own.
func TestWalkCertificate(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	c, w := newInstallation(t)
	w.overlayOf(variantsPage, "With a certificate of your own")
	w.follow(variantsPage, "With a certificate of your own #2")
	c.WaitAvailable(t)
	w.create("a")
	w.overlay()
	w.follow(variantsPage, "With a certificate of your own #3")
	w.shell.Run(t, "kubectl -n docket-system rollout status statefulset docket --timeout=3m")
	c.WaitAvailable(t)
	w.want("kubectl get apiservice v1alpha2.wgpolicyk8s.io -o jsonpath='{.spec.caBundle}' | base64 -d | grep -c BEGIN", "2")
	w.wantReports("a")
}

// TestWalkPostgres installs with kustomize and PostgreSQL, over TLS and with a password, backs up and restores.
func TestWalkPostgres(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	c, w := newInstallation(t)
	database := newTLSDatabase(t, w.dir)
	w.shell.Replace("REGISTRY", "registry.example", "TAG", "v1", "'…'", "'"+databasePassword+"'", "HOST:5432/docket", database.address, "overlays/sqlite ", "overlays/postgres ")
	w.shell.Run(t, "PATH="+database.programs+":$PATH")
	w.overlay()
	database.run(t, w.shell.Text(readBlock(t, postgresPage, "The database").Text))
	w.follow(postgresPage, "The database #2")
	w.follow(installPage, "2. Apply")
	c.WaitAvailable(t)
	w.create("a")
	w.look("v1alpha2.wgpolicyk8s.io", "default", "docket-")

	w.shell.Run(t, "export PGPASSWORD=$(cat password) DATABASE='postgres://docket@"+database.address+"?sslmode=verify-full&sslrootcert=database-ca.crt'")
	w.follow(backupPage, "PostgreSQL")
	w.create("lost")
	w.follow(backupPage, "PostgreSQL #2")
	w.wantReports("a")
	w.shell.Run(t, "kubectl -n docket-system scale deployment docket --replicas=0")
	w.want("kubectl -n docket-system get pods -l app.kubernetes.io/component=server", "No resources found")
	w.follow(backupPage, "Snapshots of volumes #2")
	w.shell.Run(t, "kubectl -n docket-system scale deployment docket --replicas=3")
	w.wantReports("a")
}

// TestWalkHelm installs with Helm and SQLite, adds the controller, upgrades, and removes everything.
func TestWalkHelm(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	c, w := newInstallation(t)
	kubectl := c.Kubectl(t, "default")
	before := everything(t, kubectl)
	w.follow(variantsPage, "With Helm #2")
	w.follow(variantsPage, "With Helm #3")
	c.WaitAvailable(t)
	w.create("a")
	w.look("v1alpha2.wgpolicyk8s.io", "default", "docket-0")
	w.follow(variantsPage, "docket-controller as well #2")
	w.shell.Run(t, "kubectl -n docket-system rollout status deployment docket-controller --timeout=3m")
	w.follow(admissionPage, "Switch it on")
	w.shell.Run(t, "kubectl -n docket-system rollout status deployment docket-controller --timeout=3m")
	w.follow(variantsPage, "Upgrade with Helm")
	w.shell.Run(t, "kubectl -n docket-system rollout status statefulset docket --timeout=3m")
	w.wantReports("a")
	w.follow(variantsPage, "Remove with Helm")
	w.follow(installPage, "Removing #2")
	checkGone(t, kubectl, before)
}

// TestWalkBootstrap registers a server, renews its certificate, asks the server itself for the objects, and removes
// everything, as bootstrap.md says. The server is started "with the manifests in deploy/".
func TestWalkBootstrap(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	c, w := newInstallation(t)
	kubectl := c.Kubectl(t, "default")
	before := everything(t, kubectl)
	installVersions(t, c, furtherVersions())
	port := testenv.FreePort(t)
	w.shell.Replace("REGISTRY", "registry.example", "TAG", "v1", " 8443:443", fmt.Sprintf(" %d:443", port), "localhost:8443", fmt.Sprintf("localhost:%d", port))

	w.follow(bootstrapPage, "Registering a server: docket bootstrap")
	w.overlayOf(variantsPage, "With a certificate of your own")
	w.shell.Run(t, "kubectl apply -k my-docket")
	w.shell.Run(t, "kubectl -n docket-system rollout status statefulset docket --timeout=3m")
	c.WaitAvailable(t)
	wantOutput(t, w.follow(bootstrapPage, "Registering a server: docket bootstrap #2"), "v1alpha2.wgpolicyk8s.io", "True")
	w.create("a")
	w.follow(bootstrapPage, "What is in the List")
	w.follow(bootstrapPage, "Where CRDs of these groups are installed")
	w.wantReports("a")

	w.shell.Run(t, "kubectl -n docket-system create serviceaccount me && kubectl create clusterrolebinding me --clusterrole=cluster-admin --serviceaccount=docket-system:me")
	w.shell.Run(t, "TOKEN=$(kubectl -n docket-system create token me)")
	block := w.block(bootstrapPage, "From the server: GET /bootstrap/&lt;group&gt;").Commands()
	w.shell.Run(t, block[0])
	w.want(fmt.Sprintf("curl --silent --insecure https://localhost:%d/readyz", port), "ok")
	wantOutput(t, w.shell.Run(t, block[1]), "apiservice.apiregistration.k8s.io/v1alpha2.wgpolicyk8s.io")
	w.shell.Run(t, "kubectl delete clusterrolebinding me")

	w.follow(bootstrapPage, "The certificate")
	c.WaitAvailable(t)
	w.wantReports("a")
	wantOutput(t, w.follow(bootstrapPage, "Further versions of a group"), "deleted")
	w.wantReports("a")
	removeVersions(t, c)
	w.follow(bootstrapPage, "Removing it")
	w.shell.Run(t, "kubectl delete -k my-docket --ignore-not-found")
	checkGone(t, kubectl, before)
}

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
