// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
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
