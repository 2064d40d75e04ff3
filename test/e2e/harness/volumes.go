// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// volumeInterval is how often a changed Secret reaches the files of its pods. Kubelets take a minute.
const volumeInterval = time.Second

// mount brings the container's volumes up to date.
func (p *pod) mount(ctx context.Context, wanted *corev1.Pod) error {
	if time.Since(p.mounted) < volumeInterval {
		return nil
	}
	volumes := map[string]corev1.VolumeSource{}
	for _, volume := range wanted.Spec.Volumes {
		volumes[volume.Name] = volume.VolumeSource
	}
	for _, mount := range wanted.Spec.Containers[0].VolumeMounts {
		source := volumes[mount.Name]
		if err := p.mountOne(ctx, wanted, filepath.Join(p.root, mount.MountPath), &source); err != nil {
			return fmt.Errorf("mount volume %s: %w", mount.Name, err)
		}
	}
	p.mounted = time.Now()
	return nil
}

// mountOne brings one volume up to date, in the folder dir.
func (p *pod) mountOne(ctx context.Context, wanted *corev1.Pod, dir string, source *corev1.VolumeSource) error {
	if claim := source.PersistentVolumeClaim; claim != nil {
		return p.mountClaim(ctx, wanted.Namespace, claim.ClaimName, dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // The container's user has to enter it.
		return err
	}
	switch {
	case source.EmptyDir != nil:
		return os.Chown(dir, containerUser, containerUser)
	case source.Secret != nil:
		return p.writeSecret(ctx, wanted.Namespace, source.Secret.SecretName, dir)
	case source.Projected != nil:
		return p.writeProjected(ctx, wanted, dir, source.Projected.Sources)
	default:
		return errors.New("it is of a kind that this machine does not know")
	}
}

// mountClaim moves the claim's folder into the container; unmount moves it back. A claim is used by
// one pod at a time.
func (p *pod) mountClaim(ctx context.Context, namespace, name, dir string) error {
	if _, err := os.Lstat(dir); err == nil {
		return nil
	}
	folder, err := p.machine.claim(ctx, namespace, name)
	if err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(dir), 0o755), os.Chown(folder, containerUser, containerUser)); err != nil { //nolint:gosec // As above.
		return err
	}
	p.claims[dir] = folder
	return os.Rename(folder, dir)
}

// unmount moves the folders of claims back to where the next pod finds them.
func (p *pod) unmount() {
	for dir, folder := range p.claims {
		if os.Rename(dir, folder) == nil { // Otherwise it is back already.
			delete(p.claims, dir)
		}
	}
}

func (p *pod) writeSecret(ctx context.Context, namespace, name, dir string) error {
	secret, err := p.machine.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for key, value := range secret.Data {
		if err := replaceFile(filepath.Join(dir, key), value); err != nil {
			return err
		}
	}
	return nil
}

// writeProjected writes the files of a ServiceAccount's volume.
func (p *pod) writeProjected(ctx context.Context, wanted *corev1.Pod, dir string, sources []corev1.VolumeProjection) error {
	core := p.machine.client.CoreV1()
	for _, source := range sources {
		switch {
		case source.ServiceAccountToken != nil:
			path := filepath.Join(dir, source.ServiceAccountToken.Path)
			if _, err := os.Lstat(path); err == nil {
				continue // It is good for an hour.
			}
			token, err := core.ServiceAccounts(wanted.Namespace).CreateToken(ctx, wanted.Spec.ServiceAccountName, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			if err := replaceFile(path, []byte(token.Status.Token)); err != nil {
				return err
			}
		case source.ConfigMap != nil:
			config, err := core.ConfigMaps(wanted.Namespace).Get(ctx, source.ConfigMap.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, item := range source.ConfigMap.Items {
				if err := replaceFile(filepath.Join(dir, item.Path), []byte(config.Data[item.Key])); err != nil {
					return err
				}
			}
		case source.DownwardAPI != nil:
			for _, item := range source.DownwardAPI.Items {
				if err := replaceFile(filepath.Join(dir, item.Path), []byte(fields(wanted)[item.FieldRef.FieldPath])); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// replaceFile replaces a file of a container as a whole, if it differs. The container's user may read it.
func replaceFile(path string, data []byte) error {
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, data) {
		return nil
	}
	next := path + ".next"
	if err := errors.Join(os.WriteFile(next, data, 0o400), os.Chown(next, containerUser, containerUser)); err != nil {
		return err
	}
	return os.Rename(next, path)
}
