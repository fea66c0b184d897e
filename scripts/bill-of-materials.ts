/**
 * What other people's packages are in a build, as CycloneDX 1.6 in JSON, for programs that look for known faults in them. Made at the build
 * beside the notices, of the same packages, and put into the container images. The same packages give the same bytes.
 */
import { Enums, Models, Serialize, SPDX, Spec } from '@cyclonedx/cyclonedx-library';
import { type PackageFile, packagesAt } from './notices.ts';

export function billOf(folders: Iterable<string>, { name, version }: PackageFile): string {
  const bill = new Models.Bom();
  bill.metadata.component = new Models.Component(Enums.ComponentType.Application, name, { version, bomRef: name });
  // The same package may lie in several folders.
  const components = new Map(packagesAt(folders).map(({ about }) => [addressOf(about), about]));
  for (const [purl, about] of components) bill.components.add(componentOf(about, purl));
  const normal = new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6);
  return `${new Serialize.JsonSerializer(normal).serialize(bill, { sortLists: true, space: 2 })}\n`;
}

const addressOf = ({ name, version }: PackageFile): string =>
  `pkg:npm/${name.replace('@', '%40')}@${encodeURIComponent(version)}`;

function componentOf({ name, version, license }: PackageFile, purl: string): Models.Component {
  const [, group, own = name] = /^(@[^/]+)\/(.+)$/.exec(name) ?? [];
  const licenses = new Models.LicenseRepository(typeof license === 'string' ? [licenseOf(license)] : []);
  const more = { version, purl, bomRef: purl, licenses, ...(group === undefined ? {} : { group }) };
  return new Models.Component(Enums.ComponentType.Library, own, more);
}

/** An id of SPDX where it is one; `(MIT OR GPL-3.0)` and what people make up stay words. */
function licenseOf(text: string): Models.SpdxLicense | Models.NamedLicense {
  return SPDX.isSupportedSpdxId(text) ? new Models.SpdxLicense(text) : new Models.NamedLicense(text);
}
