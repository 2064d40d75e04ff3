// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

// walk is what a test follows of a page, block by block, in this order.
type walk struct {
	page   string
	blocks []string
}

const (
	admissionPage  = "docs/controller/admission.md"
	backupPage     = "docs/operate/backup.md"
	bootstrapPage  = "docs/operate/bootstrap.md"
	contextPage    = "docs/controller/context-cache.md"
	controllerPage = "docs/controller/controller.md"
	installPage    = "docs/start/install.md"
	migratePage    = "docs/operate/migrate.md"
	readmePage     = "README.md"
	upPage         = "docs/start/up.md"
)

// walkedPages are those of which every command is run, or listed as one that can't be.
func walkedPages() []string {
	return []string{
		admissionPage, backupPage, bootstrapPage, contextPage, controllerPage, installPage, migratePage, readmePage, upPage,
	}
}

// walks returns what each test follows.
func walks() map[string][]walk {
	return map[string][]walk{
		"TestWalkSQLite": {
			{installPage, []string{"4a. With kustomize", "5. Look", "4a. With kustomize #2", "Upgrading", "Removing"}},
			{backupPage, []string{"SQLite in a cluster", "SQLite in a cluster #2", "Upgrade", "Roll back"}},
		},
		"TestWalkPostgres": {
			{installPage, []string{"3. PostgreSQL only: the database #2", "4a. With kustomize", "5. Look"}},
			{backupPage, []string{"PostgreSQL", "PostgreSQL #2", "Snapshots of volumes #2"}},
		},
		"TestWalkHelm": {
			{installPage, []string{"4b. With Helm #2", "4b. With Helm #3", "5. Look", "docket-controller #2", "Upgrading #2", "Removing #2", "Removing #3"}},
			{admissionPage, []string{"Switch it on"}},
		},
		"TestWalkController": {
			{controllerPage, []string{"In a cluster #5", "In a cluster #4", "Reports", "When something is wrong", "Beside Kyverno #2"}},
			{contextPage, []string{"How fresh it is", "In files"}},
			{admissionPage, []string{"What is reported", "Events", "What kube-apiserver is told", "Switch it off"}},
		},
		"TestWalkReadme": {{readmePage, []string{"Docket", "From policies to reports", "Two commands"}}},
		"TestWalkUp":     {{upPage, []string{"docket up: everything on one machine", "Who may do what", "Several at once"}}},
		"TestWalkLaptop": {{controllerPage, []string{"On a laptop", "On a laptop #2", "On a laptop #3", "On a laptop #4"}}},
		"TestWalkMigrate": {
			{installPage, []string{"Everything but the APIServices"}},
			{migratePage, []string{
				"Before", "Before #2", "Copy, switch, verify: one command", "Compare again, free the space in etcd",
				"Compare again, free the space in etcd #2", "Back to custom resources",
			}},
		},
		"TestWalkBootstrap": {
			{bootstrapPage, []string{
				"Registering a server: docket bootstrap", "Registering a server: docket bootstrap #2", "What is in the List", "Where CRDs of these groups are installed",
				"From the server: GET /bootstrap/&lt;group&gt;", "The certificate", "Further versions of a group", "Removing it",
			}},
		},
		"TestWalkDatabases": {
			{backupPage, []string{"SQLite on your machine", "SQLite on your machine #2", "Snapshots of volumes"}},
			{migratePage, []string{"From one database to another"}},
		},
	}
}

// notFollowed are blocks that can't be run here, with the reason.
func notFollowed() map[string]string {
	const docker, certManager = "there is no Docker here, nor a registry", "cert-manager has no Go module of its own that could be built for a test"
	return map[string]string{
		installPage + ": 2. The image":                                   docker,
		installPage + ": docket-controller":                              docker,
		installPage + ": 4a. With kustomize #3":                          certManager,
		installPage + ": 4b. With Helm":                                  certManager,
		installPage + ": Another namespace":                              "the objects are those of TestDeploy, by sed",
		admissionPage + ": Load and time":                                "it is a benchmark in a clone; TestSlowConnectionsStopNobody counts the answers",
		controllerPage + ": docket-controller: policies in, reports out": "it is a list of commands, not to be typed",
		controllerPage + ": In a cluster":                                docker,
		controllerPage + ": In a cluster #2":                             "it is that of install.md",
		controllerPage + ": Policies":                                    "the collection is not part of the repository; by hand: testing.md",
		upPage + ": Who may do what #2":                                  "tests keep to loopback",
		migratePage + ": From kyverno/reports-server":                    "TestReportsServer in internal/migrate, on tables as reports-server makes them",
	}
}
