// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package testenv

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// patroniTimeout bounds each wait for Patroni. Above its ttl and what a start takes on a busy machine.
const patroniTimeout = 2 * time.Minute

// Patroni is a PostgreSQL of two servers that Patroni looks after, one of which follows the other synchronously. Its
// methods are for one goroutine at a time.
type Patroni struct {
	nodes    [2]*patroniNode
	password string
}

// NewPatroni starts one that keeps its state in an etcd, and returns when both servers run. It ends with the test.
func NewPatroni(t testing.TB, etcd string) *Patroni {
	t.Helper()
	if err := Need(t.Context(), "patroni=patroni,python3-etcd"); err != nil {
		t.Fatal(err)
	}
	install, err := findInstallation()
	if err != nil {
		t.Fatal(err)
	}
	p := &Patroni{password: randomHex(16)}
	for i := range p.nodes {
		node, err := newPatroniNode(install, "node"+strconv.Itoa(i))
		if err != nil {
			t.Fatal(err)
		}
		p.nodes[i] = node
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("%s:\n%s", node.name, node.logTail())
			}
			if err := node.close(); err != nil {
				t.Errorf("end %s: %v", node.name, err)
			}
		})
		if err := node.configure(etcd, p.password); err != nil {
			t.Fatal(err)
		}
		if err := node.start(); err != nil {
			t.Fatal(err)
		}
	}
	p.WaitSynchronous(t)
	return p
}

// Database makes a database, and returns its URL on whichever server takes writes.
func (p *Patroni) Database(t testing.TB) string {
	t.Helper()
	name := "test_" + randomHex(8)
	conn, err := pgx.Connect(t.Context(), p.url("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(t.Context(), "CREATE DATABASE "+name)
	if closeErr := conn.Close(t.Context()); err == nil {
		err = closeErr
	}
	if err != nil {
		t.Fatal(err)
	}
	return p.url(name)
}

func (p *Patroni) url(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(superuser, p.password), Path: "/" + database,
		Host: p.nodes[0].address(p.nodes[0].port) + "," + p.nodes[1].address(p.nodes[1].port),
		RawQuery: url.Values{
			"sslmode": {"disable"}, "target_session_attrs": {"read-write"}, "connect_timeout": {"3"},
		}.Encode(),
	}
	return u.String()
}

// WaitSynchronous waits until the primary waits for its standby with each commit.
func (p *Patroni) WaitSynchronous(t testing.TB) {
	t.Helper()
	p.await(t, "a primary with a synchronous standby", func(m map[string]patroniMember) bool {
		return find(m, "leader") != "" && find(m, "sync_standby") != ""
	})
}

// Switchover makes the standby the primary, in order, and returns when it is.
func (p *Patroni) Switchover(t testing.TB) {
	t.Helper()
	members, err := p.members(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	leader, candidate := find(members, "leader"), find(members, "sync_standby")
	body, err := json.Marshal(map[string]string{"leader": leader, "candidate": candidate})
	if err != nil {
		t.Fatal(err)
	}
	status, answer, err := p.node(leader).call(t.Context(), http.MethodPost, "/switchover", body)
	if err != nil || status != http.StatusOK {
		t.Fatalf("switchover from %s to %s: %d %s, %v", leader, candidate, status, answer, err)
	}
	p.await(t, candidate+" as primary", func(m map[string]patroniMember) bool { return find(m, "leader") == candidate })
}

// KillPrimary ends the primary and its Patroni with SIGKILL, as the end of its machine would, and returns when the
// standby has taken over.
func (p *Patroni) KillPrimary(t testing.TB) {
	t.Helper()
	members, err := p.members(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	leader, heir := find(members, "leader"), find(members, "sync_standby")
	if err := p.node(leader).kill(t.Context()); err != nil {
		t.Fatalf("kill %s: %v", leader, err)
	}
	p.await(t, heir+" as primary", func(m map[string]patroniMember) bool { return find(m, "leader") == heir })
}

func (p *Patroni) node(name string) *patroniNode {
	if p.nodes[0].name == name {
		return p.nodes[0]
	}
	return p.nodes[1]
}

// patroniMember is what Patroni says of a server.
type patroniMember struct{ Name, Role, State string }

// find returns the name of the running member with a role.
func find(members map[string]patroniMember, role string) string {
	for name, member := range members {
		if member.Role == role && (member.State == "running" || member.State == "streaming") {
			return name
		}
	}
	return ""
}

// members asks a node that answers.
func (p *Patroni) members(ctx context.Context) (map[string]patroniMember, error) {
	var err error
	for _, node := range p.nodes {
		var body []byte
		if _, body, err = node.call(ctx, http.MethodGet, "/cluster", nil); err != nil {
			continue
		}
		var answer struct{ Members []patroniMember }
		if err = json.Unmarshal(body, &answer); err != nil {
			continue
		}
		members := map[string]patroniMember{}
		for _, member := range answer.Members {
			members[member.Name] = member
		}
		return members, nil
	}
	return nil, err
}

func (p *Patroni) await(t testing.TB, what string, done func(map[string]patroniMember) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patroniTimeout)
	defer cancel()
	tick := time.NewTicker(10 * pollInterval)
	defer tick.Stop()
	for {
		members, err := p.members(ctx)
		if err == nil && done(members) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s: %v, %v", what, members, err)
		}
	}
}

// patroniNode is a Patroni with its server. Its folder holds data/, patroni.yml and patroni.log.
type patroniNode struct {
	install   *installation
	name, dir string
	// port of PostgreSQL, and of Patroni's REST API.
	port, api int
	watchdog  *watchdog
	cmd       *exec.Cmd // nil when it does not run
}

func newPatroniNode(install *installation, name string) (*patroniNode, error) {
	ports, err := FreePorts(2)
	if err != nil {
		return nil, err
	}
	dir, err := install.mkdirTemp("docket-patroni-")
	if err != nil {
		return nil, err
	}
	dog, err := newWatchdog(dir)
	if err != nil {
		return nil, err
	}
	return &patroniNode{install: install, name: name, dir: dir, port: ports[0], api: ports[1], watchdog: dog}, nil
}

func (*patroniNode) address(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// configure writes patroni.yml. JSON is YAML, too.
func (n *patroniNode) configure(etcd, password string) error {
	role := func(name string) map[string]any { return map[string]any{"username": name, "password": password} }
	api, server := n.address(n.api), n.address(n.port)
	config, err := json.Marshal(map[string]any{
		"scope": "docket", "name": n.name,
		"restapi": map[string]any{"listen": api, "connect_address": api},
		"etcd3":   map[string]any{"url": etcd},
		"bootstrap": map[string]any{
			// Short for a test: a standby waits for ttl before it takes over from a primary that is gone.
			"dcs": map[string]any{
				"ttl": 10, "loop_wait": 1, "retry_timeout": 3, "synchronous_mode": true,
				"postgresql": map[string]any{"use_pg_rewind": true},
			},
			"initdb": []any{map[string]any{"encoding": "UTF8"}, map[string]any{"locale": "C"}, "no-sync", "data-checksums"},
		},
		"postgresql": map[string]any{
			"listen": server, "connect_address": server, "bin_dir": n.install.bin,
			"data_dir": filepath.Join(n.dir, "data"), "pgpass": filepath.Join(n.dir, "pgpass"),
			"authentication": map[string]any{
				"superuser": role(superuser), "replication": role("replicator"), "rewind": role("rewinder"),
			},
			"pg_hba": []string{"local all all trust", "host all all 127.0.0.1/32 scram-sha-256", "host replication all 127.0.0.1/32 scram-sha-256"},
			"parameters": map[string]any{
				"unix_socket_directories": n.dir, "shared_buffers": "32MB", "dynamic_shared_memory_type": "mmap",
				"max_wal_size": "256MB",
			},
		},
	})
	if err != nil {
		return err
	}
	path := filepath.Join(n.dir, "patroni.yml")
	if err := os.WriteFile(path, config, 0o600); err != nil {
		return err
	}
	if n.install.runAs == nil {
		return nil
	}
	return os.Chown(path, int(n.install.runAs.Uid), int(n.install.runAs.Gid))
}

func (n *patroniNode) start() error {
	logFile, err := os.OpenFile(filepath.Join(n.dir, "patroni.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = logFile.Close() }()
	path, err := exec.LookPath("patroni")
	if err != nil {
		return err
	}
	cmd := exec.Command(path, filepath.Join(n.dir, "patroni.yml")) //nolint:noctx // kill and close end it.
	cmd.Env = []string{"PATH=" + n.install.bin + ":/usr/bin:/bin", "LC_ALL=C.UTF-8", "TZ=UTC", "HOME=" + n.dir, "PYTHONDONTWRITEBYTECODE=1"}
	cmd.Dir = n.dir
	cmd.Stdout, cmd.Stderr = logFile, logFile
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: n.install.runAs, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start patroni: %w", err)
	}
	n.cmd = cmd
	return n.watchdog.watch(cmd.Process.Pid)
}

// call asks the REST API.
func (n *patroniNode) call(ctx context.Context, method, path string, body []byte) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patroniTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "http://"+n.address(n.api)+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	var answer bytes.Buffer
	_, err = answer.ReadFrom(response.Body)
	return response.StatusCode, answer.Bytes(), err
}

// kill ends Patroni, and then its server, with SIGKILL, and returns when nobody listens any more.
func (n *patroniNode) kill(ctx context.Context) error {
	if err := n.killPatroni(); err != nil {
		return err
	}
	content, err := os.ReadFile(filepath.Join(n.dir, "data", "postmaster.pid"))
	if err != nil {
		return err
	}
	line, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", n.address(n.port))
		if err != nil {
			return ctx.Err()
		}
		_ = conn.Close()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (n *patroniNode) killPatroni() error {
	if n.cmd == nil {
		return nil
	}
	if err := n.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = n.cmd.Wait() // The exit status after a signal says nothing new.
	n.cmd = nil
	return n.watchdog.watch(0)
}

// close ends both, and removes the folder.
func (n *patroniNode) close() error {
	if err := n.killPatroni(); err != nil {
		return err
	}
	return n.watchdog.close()
}

// logTail is the end of the log of both.
func (n *patroniNode) logTail() string {
	const lines = 60
	data, err := os.ReadFile(filepath.Join(n.dir, "patroni.log"))
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
