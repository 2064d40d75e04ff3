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
	consolePage    = "docs/start/console.md"
	contextPage    = "docs/controller/context-cache.md"
	controllerPage = "docs/controller/controller.md"
	installPage    = "docs/start/install.md"
	migratePage    = "docs/operate/migrate.md"
	operationsPage = "docs/operate/operations.md"
	operatePage    = "docs/controller/operate.md"
	postgresPage   = "docs/start/postgresql.md"
	readmePage     = "README.md"
	replacePage    = "docs/controller/replace-kyverno.md"
	reportsPage    = "docs/controller/reports.md"
	resultsPage    = "docs/start/results.md"
	scanPage       = "docs/controller/scan.md"
	upPage         = "docs/start/up.md"
	variantsPage   = "docs/start/install-variants.md"
)

// walkedPages are those of which every command is run, or listed as one that can't be.
func walkedPages() []string {
	return []string{
		admissionPage, backupPage, bootstrapPage, consolePage, contextPage, controllerPage, installPage, migratePage, operatePage, postgresPage,
		readmePage, replacePage, reportsPage, resultsPage, scanPage, upPage, variantsPage,
	}
}

// walks returns what each test follows.
func walks() map[string][]walk {
	return map[string][]walk{
		"TestWalkSQLite": {
			{installPage, []string{"2. Apply", "3. Look", "Everything but the APIServices #2", "Upgrading", "Removing"}},
			{operationsPage, []string{"Certificates"}},
			{backupPage, []string{"SQLite in a cluster", "SQLite in a cluster #2", "Upgrade", "Roll back"}},
		},
		"TestWalkPostgres": {
			{postgresPage, []string{"The database #2"}},
			{installPage, []string{"2. Apply", "3. Look"}},
			{backupPage, []string{"PostgreSQL", "PostgreSQL #2", "Snapshots of volumes #2"}},
		},
		"TestWalkHelm": {
			{variantsPage, []string{"With Helm #2", "With Helm #3", "docket-controller as well #2", "Upgrade with Helm", "Remove with Helm"}},
			{installPage, []string{"3. Look", "Removing #2"}},
			{admissionPage, []string{"Switch it on"}},
		},
		"TestWalkCertificate": {
			{variantsPage, []string{"With a certificate of your own #2", "With a certificate of your own #3"}},
		},
		"TestWalkController": {
			{controllerPage, []string{"In a cluster #5", "In a cluster #4", "Several installations"}},
			{reportsPage, []string{"Names and labels"}},
			{operatePage, []string{"When something is wrong"}},
			{replacePage, []string{"Beside Kyverno #2"}},
			{contextPage, []string{"How fresh it is", "In files"}},
			{admissionPage, []string{"What is reported", "Events", "The webhook configuration", "Switch it off"}},
		},
		"TestWalkReadme": {{readmePage, []string{"In a minute #2", "In a minute #3", "Three doors", "In a minute"}}},
		"TestWalkUp": {
			{upPage, []string{"docket up: everything on one machine", "Who may do what", "Several at once"}},
			{resultsPage, []string{
				"With kubectl", "With kubectl #2", "With kubectl #3", "With kubectl #4", "With kubectl #5", "All clusters of a database", "All clusters of a database #2",
				"With docket results", "I want to see …", "Reports with kubectl", "With SQL",
			}},
			{consolePage, []string{"Results in a browser"}},
		},
		"TestWalkLaptop": {{scanPage, []string{"On a laptop", "On a laptop #2", "Keep the reports", "Keep the reports #2", "On a laptop #3"}}},
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
		installPage + ": 1. The image":                                   docker,
		variantsPage + ": docket-controller as well":                     docker,
		variantsPage + ": With cert-manager":                             certManager,
		variantsPage + ": With Helm":                                     certManager,
		variantsPage + ": Another namespace":                             "the objects are those of TestDeploy, by sed",
		admissionPage + ": Load and time":                                "it is a benchmark in a clone; TestSlowConnectionsStopNobody counts the answers",
		controllerPage + ": docket-controller: policies in, reports out": "it is a list of commands, not to be typed",
		controllerPage + ": In a cluster":                                docker,
		controllerPage + ": In a cluster #2":                             "it is that of install-variants.md",
		consolePage + ": How fast it is":                                 "it takes minutes to write a million results",
		upPage + ": Who may do what #2":                                  "tests keep to loopback",
		bootstrapPage + ": Custom resources":                             "TestBootstrapCalls in cmd/docket prints them, TestCustomResourcesInCluster serves them",
		migratePage + ": Custom resources other than reports":            "TestMigrateAnyKind, with a kind of its own",
		variantsPage + ": Custom resources":                              "TestPods in deploy, and TestCustomResourcesInCluster on their files",
		variantsPage + ": Custom resources #2":                           "the same",
		variantsPage + ": Custom resources #4":                           "the same",
		variantsPage + ": Custom resources #5":                           "TestPods in deploy",
		migratePage + ": From kyverno/reports-server":                    "TestReportsServer in internal/migrate, on tables as reports-server makes them",
	}
}
