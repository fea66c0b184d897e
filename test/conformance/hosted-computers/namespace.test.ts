// Runs apart: it makes namespaces, networks and processes of the whole computer.
import { noComputers } from '../../support/computers/helper.ts';
import { openNamespace } from './namespace-subject.ts';
import { describeDriver } from './suite.ts';

describeDriver('namespace', noComputers(), openNamespace);
